"""Certificates as plain values, and back through their own constructors."""

from dataclasses import fields
from typing import Any

from maxmargin.certificates import (
    Certificate,
    ClassificationGap,
    LassoGap,
    LogisticGap,
    MarginBracket,
    MistakeBound,
    MulticlassGap,
    PerClass,
    PerPair,
    RegressionGap,
    RidgeGap,
    SVMGap,
)

# The only classes that a file can name.
KINDS: dict[str, type[Certificate]] = {
    kind.__name__: kind
    for kind in (
        SVMGap,
        ClassificationGap,
        RegressionGap,
        MulticlassGap,
        MarginBracket,
        MistakeBound,
        RidgeGap,
        LassoGap,
        LogisticGap,
    )
}
COLLECTIONS: dict[str, type[PerClass]] = {kind.__name__: kind for kind in (PerClass, PerPair)}


def plain_certificate(certificate: Certificate | PerClass) -> dict[str, Any]:
    """The certificate's kind and numbers."""
    name = type(certificate).__name__
    if isinstance(certificate, PerClass):
        return {"kind": name, "of": [[label, plain_certificate(proof)] for label, proof in certificate.items()]}
    values: dict[str, Any] = {"kind": name}
    for field in fields(certificate):
        value = getattr(certificate, field.name)
        if isinstance(value, Certificate):
            value = plain_certificate(value)
        values[field.name] = float(value) if field.type is float else value
    return values


def certificate_of(stored: Any) -> Certificate | PerClass:
    """Make the certificate again; ValueError where the numbers are not such, or its constructor refuses them."""
    if not isinstance(stored, dict) or not isinstance(stored.get("kind"), str):
        raise ValueError("the certificate has no kind")
    name = stored["kind"]
    if name in COLLECTIONS:
        return _collection_of(COLLECTIONS[name], stored)
    if name not in KINDS:
        raise ValueError(f"there is no certificate {name!r}")
    return _single(KINDS[name], stored)


def _collection_of(kind: type[PerClass], stored: dict[str, Any]) -> PerClass:
    entries = stored.get("of")
    if set(stored) != {"kind", "of"} or not isinstance(entries, list):
        raise ValueError(f"the {kind.__name__} is not a list of certificates")
    proofs: dict[Any, Certificate] = {}
    for entry in entries:
        if not isinstance(entry, list) or len(entry) != 2:
            raise ValueError(f"the {kind.__name__} has an entry that is not a label and a certificate")
        proof = certificate_of(entry[1])
        if isinstance(proof, PerClass):
            raise ValueError(f"a {kind.__name__} cannot hold another")
        proofs[_key(entry[0])] = proof
    if len(proofs) < len(entries):
        raise ValueError(f"the {kind.__name__} has a label twice")
    return kind(proofs)


def _key(label: Any) -> Any:
    """A label, or the two labels of a pair."""
    key = tuple(label) if isinstance(label, list) else label
    if any(isinstance(part, (list, dict)) for part in (key if isinstance(key, tuple) else (key,))):
        raise ValueError("the label of a certificate is not a plain value")
    return key


def _single(kind: type[Certificate], stored: dict[str, Any]) -> Certificate:
    declared: dict[str, Any] = {field.name: field.type for field in fields(kind)}
    if set(stored) != {"kind", *declared}:
        raise ValueError(f"the {kind.__name__} has the entries {sorted(map(str, set(stored) - {'kind'}))}")
    values = {name: certificate_of(stored[name]) if _is_proof(of) else stored[name] for name, of in declared.items()}
    for name, of in declared.items():
        value = values[name]
        # A boolean counts as an int in Python.
        if isinstance(value, bool) or not isinstance(value, of) or (isinstance(value, int) and value < 0):
            raise ValueError(f"the {kind.__name__} has {name} = {value!r}")
    return kind(**values)


def _is_proof(declared: Any) -> bool:
    return isinstance(declared, type) and issubclass(declared, Certificate)
