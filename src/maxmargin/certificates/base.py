"""What all certificates have in common."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

# Two honest computations of one quantity, on dense and on sparse rows, may round differently by this much.
AGREEMENT = 1e-9


class CertificateError(ValueError):
    """A certificate claims more than the data prove."""


@dataclass(frozen=True)
class Certificate(ABC):
    """A small frozen set of numbers that are true of a model and its data."""

    @abstractmethod
    def __str__(self) -> str:
        """What is proven, as a sentence."""

    @abstractmethod
    def check(self, proven: "Certificate") -> None:
        """Raise CertificateError where this certificate claims more than ``proven``, computed anew, does."""

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain Python values, with the kind of certificate under ``"certificate"``."""
        return {"certificate": type(self).__name__, **asdict(self)}

    def _refuse_unless(self, condition: bool, claim: str) -> None:
        if not condition:
            raise CertificateError(f"{type(self).__name__}: {claim}")

    def _same_kind(self, proven: "Certificate") -> None:
        self._refuse_unless(type(proven) is type(self), f"cannot be checked against a {type(proven).__name__}")


def not_above(claimed: float, proven: float, scale: float) -> bool:
    """Whether a claimed lower bound is covered by a proven one (NaN is covered by nothing)."""
    if claimed == proven:
        return True
    return claimed <= proven + AGREEMENT * scale if math.isfinite(scale) else claimed < proven


class PerClass(Mapping[Any, Certificate]):
    """One certificate for each class against the rest.

    Parameters
    ----------
    certificates : mapping from class label to Certificate
    """

    def __init__(self, certificates: Mapping[Any, Certificate]) -> None:
        self._certificates = dict(certificates)

    def __getitem__(self, label: Any) -> Certificate:
        return self._certificates[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._certificates)

    def __len__(self) -> int:
        return len(self._certificates)

    @property
    def worst(self) -> Any:
        """The certificate with the largest relative gap (of classes whose certificates are gaps)."""
        return max(self.values(), key=lambda proof: proof.relative)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"PerClass({self._certificates!r})"

    def __str__(self) -> str:
        return "\n".join(f"{label} against the rest: {proof}" for label, proof in self.items())

    def check(self, proven: "PerClass") -> None:
        """Check every class's certificate."""
        if type(proven) is not type(self) or set(proven) != set(self):
            raise CertificateError("PerClass: the classes are not the same")
        for label, certificate in self.items():
            certificate.check(proven[label])

    def to_dict(self) -> dict[str, Any]:
        """One entry a class, keyed by the label's text."""
        return {str(label): proof.to_dict() for label, proof in self.items()}


class PerPair(PerClass):
    """One certificate for each pair of classes, keyed by their two labels."""

    def __str__(self) -> str:
        return "\n".join(f"{label[0]} against {label[1]}: {proof}" for label, proof in self.items())
