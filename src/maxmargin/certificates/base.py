"""The base class of all certificates, and collections of them by class and by pair of classes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

# Relative difference allowed between two correct float64 computations of one quantity: dense and sparse rows are summed
# in different orders, which changes about the last three digits at the sizes of data that are certified.
AGREEMENT = 1e-9


class CertificateError(ValueError):
    """A certificate claims more than the data prove.

    See Also
    --------
    Certificate : Its ``check`` raises this.
    """


@dataclass(frozen=True)
class Certificate(ABC):
    """A frozen record of numbers that hold for a model and its data in exact arithmetic.

    See Also
    --------
    certify : Computes the certificate of a model again.
    CertificateError : Raised by ``check`` where a claim is too strong.
    """

    @abstractmethod
    def __str__(self) -> str:
        """State what is proven in one sentence."""

    @abstractmethod
    def check(self, proven: "Certificate") -> None:
        """Raise CertificateError where this certificate claims more than ``proven``, computed anew, does."""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain Python values, with the name of the class under ``"certificate"``."""
        return {"certificate": type(self).__name__, **asdict(self)}

    def _refuse_unless(self, condition: bool, claim: str) -> None:
        if not condition:
            raise CertificateError(f"{type(self).__name__}: {claim}")

    def _same_kind(self, proven: "Certificate") -> None:
        self._refuse_unless(type(proven) is type(self), f"cannot be checked against a {type(proven).__name__}")

    def _check_assumption(self, proven: Any) -> None:
        self._refuse_unless(
            self.assumption == proven.assumption or not proven.assumption,  # type: ignore[attr-defined]
            f"holds only {proven.assumption}",
        )

    def _check_lower_bounds(self, proven: "Certificate", *names: str, scale: float) -> None:
        """Refuse a claimed lower bound above the proven one, up to AGREEMENT times ``scale``."""
        for name in names:
            claimed, found = getattr(self, name), getattr(proven, name)
            self._refuse_unless(not_above(claimed, found, scale), f"{name} {claimed!r} is more than {found!r}")

    def _check_upper_bounds(self, proven: "Certificate", *names: str, scale: float) -> None:
        """Refuse a claimed upper bound below the proven one, up to AGREEMENT times ``scale``."""
        for name in names:
            claimed, found = getattr(self, name), getattr(proven, name)
            self._refuse_unless(not_above(-claimed, -found, scale), f"{name} {claimed!r} is less than {found!r}")

    def _check_equal(
        self, proven: "Certificate", *names: str, rel_tol: float = AGREEMENT, abs_tol: float = 0.0
    ) -> None:
        """Refuse a number that is not the proven one, up to the tolerances (infinity equals infinity)."""
        for name in names:
            claimed, found = getattr(self, name), getattr(proven, name)
            self._refuse_unless(
                math.isclose(claimed, found, rel_tol=rel_tol, abs_tol=abs_tol), f"{name} {claimed!r} is not {found!r}"
            )


def not_above(claimed: float, proven: float, scale: float) -> bool:
    """Whether a claimed lower bound follows from a proven one (NaN follows from nothing)."""
    if claimed == proven:
        return True
    return claimed <= proven + AGREEMENT * scale if math.isfinite(scale) else claimed < proven


class PerClass(Mapping[Any, Certificate]):
    """One certificate for each class, one against the rest.

    Parameters
    ----------
    certificates : mapping from class label to Certificate

    See Also
    --------
    PerPair : One for each pair of classes.
    PerTarget : One for each target.
    """

    def __init__(self, certificates: Mapping[Any, Certificate]) -> None:
        # Not a dictionary: files of other programs (skops) cannot have pairs as keys.
        self._labels, self._proofs = list(certificates), list(certificates.values())

    def __getitem__(self, label: Any) -> Certificate:
        try:
            return self._proofs[self._labels.index(label)]
        except ValueError:
            raise KeyError(label) from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    @property
    def proofs(self) -> list[Certificate]:
        """The certificates, in the order of their labels."""
        return list(self._proofs)

    @property
    def worst(self) -> Any:
        """The certificate with the largest relative gap (where the certificates are gaps)."""
        return max(self.values(), key=lambda proof: proof.relative)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"

    def __str__(self) -> str:
        return "\n".join(f"{label} against the rest: {proof}" for label, proof in self.items())

    def check(self, proven: "PerClass") -> None:
        """Check every class's certificate."""
        if type(proven) is not type(self) or set(proven) != set(self):
            raise CertificateError(f"{type(self).__name__}: the classes are not the same")
        for label, certificate in self.items():
            certificate.check(proven[label])

    def to_dict(self) -> dict[str, Any]:
        """Return one entry per class, keyed by the label's text."""
        return {str(label): proof.to_dict() for label, proof in self.items()}


class PerTarget(PerClass):
    """One certificate for each target of a regression, keyed by its number.

    See Also
    --------
    PerClass : One for each class.
    Ridge : Takes several targets.
    """

    def __str__(self) -> str:
        return "\n".join(f"target {target}: {proof}" for target, proof in self.items())


class PerPair(PerClass):
    """One certificate for each pair of classes, keyed by their two labels.

    See Also
    --------
    PerClass : One for each class.
    SVC : Learns one class against another.
    """

    def __str__(self) -> str:
        return "\n".join(f"{label[0]} against {label[1]}: {proof}" for label, proof in self.items())
