"""The base class of all certificates, and collections of them by class and by pair of classes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import NoReturn, TypeVar

# Relative difference allowed between two correct float64 computations of one quantity: dense and sparse rows are summed
# in different orders, which changes about the last three digits at the sizes of data that are certified.
AGREEMENT = 1e-9
# Share of the bound on coefficients, as computed anew, that a claim has at least.
REGION_SHARE = 0.5


class CertificateError(ValueError):
    """A certificate claims more than the data prove.

    See Also
    --------
    Certificate : Its ``check`` raises this.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dataclasses import replace
    >>> from maxmargin import CertificateError, LinearSVC, certify
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(tol=0.1).fit(X, y == 1)
    >>> better = replace(model.certificate_, dual=model.certificate_.primal)  # "the optimum is reached"
    >>> try:
    ...     better.check(certify(model, X, y == 1))
    ... except CertificateError:
    ...     print("a dual value that the data do not prove")
    a dual value that the data do not prove
    """


LabelT = TypeVar("LabelT", bound=Hashable)


@dataclass(frozen=True)
class Certificate(ABC):
    """A frozen record of numbers that hold for a model and its data in exact arithmetic.

    See Also
    --------
    certify : Computes the certificate of a model again.
    CertificateError : Raised by ``check`` where a claim is too strong.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC, certify
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC().fit(X, y == 0)
    >>> claim = model.certificate_
    >>> claim.check(certify(model, X, y == 0))  # silent: the data prove the claim
    """

    @abstractmethod
    def __str__(self) -> str:
        """State what is proven in one sentence."""

    @abstractmethod
    def check(self, proven: "Certificate") -> None:
        """Raise CertificateError where this certificate claims more than ``proven``, computed anew, does."""

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as plain Python values, with the name of the class under ``"certificate"``."""
        return {"certificate": type(self).__name__, **asdict(self)}

    def _refuse(self, claim: str) -> NoReturn:
        raise CertificateError(f"{type(self).__name__}: {claim}")

    def _refuse_unless(self, condition: bool, claim: str) -> None:
        if not condition:
            self._refuse(claim)

    def _same_kind(self, proven: "Certificate") -> None:
        self._refuse_unless(type(proven) is type(self), f"cannot be checked against a {type(proven).__name__}")

    def _check_assumption(self, proven: "Certificate") -> None:
        known: str = proven.assumption  # type: ignore[attr-defined]
        self._refuse_unless(self.assumption == known or not known, f"holds only {known}")  # type: ignore[attr-defined]

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

    def _check_region(self, proven: "Certificate", name: str) -> None:
        """Refuse a bound on coefficients, within which ``dual`` holds, that is larger than proven, or far smaller.

        Around the model alone every model is the best one. Sizes of columns far from zero depend on the order of sums.
        """
        found = getattr(proven, name)
        self._check_lower_bounds(proven, name, scale=abs(found))
        self._refuse_unless(getattr(self, name) >= REGION_SHARE * found, f"{name} is far smaller than {found!r}")

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


class PerClass(Mapping[Hashable, Certificate]):
    """One certificate for each class, one against the rest.

    Parameters
    ----------
    certificates : mapping from class label to Certificate

    See Also
    --------
    PerPair : One for each pair of classes.
    PerTarget : One for each target.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> proofs = LinearSVC(tol=1e-6).fit(X, y).certificate_
    >>> for label, proof in proofs.items():
    ...     print(f"class {label}: optimum {proof.primal:.3f}")
    class 0: optimum 0.748
    class 1: optimum 88.538
    class 2: optimum 15.760
    """

    def __init__(self, certificates: Mapping[LabelT, Certificate]) -> None:
        # Not a dictionary: files of other programs (skops) cannot have pairs as keys.
        self._labels: list[Hashable] = list(certificates)
        self._proofs = list(certificates.values())

    def __getitem__(self, label: Hashable) -> Certificate:
        try:
            return self._proofs[self._labels.index(label)]
        except ValueError:
            raise KeyError(label) from None

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    @property
    def proofs(self) -> list[Certificate]:
        """The certificates, in the order of their labels."""
        return list(self._proofs)

    @property
    def worst(self) -> Certificate:
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

    def to_dict(self) -> dict[str, object]:
        """Return one entry per class, keyed by the label's text."""
        return {str(label): proof.to_dict() for label, proof in self.items()}


class PerTarget(PerClass):
    """One certificate for each target of a regression, keyed by its number.

    See Also
    --------
    PerClass : One for each class.
    Ridge : Takes several targets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> import numpy as np
    >>> from maxmargin import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> proofs = Ridge().fit(X, np.column_stack([y, y**2])).certificate_
    >>> list(proofs)
    [0, 1]
    """

    def __str__(self) -> str:
        return "\n".join(f"target {target}: {proof}" for target, proof in self.items())


class PerPair(PerClass):
    """One certificate for each pair of classes, keyed by their two labels.

    See Also
    --------
    PerClass : One for each class.
    SVC : Learns one class against another.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> proofs = SVC(tol=1e-6).fit(X, y).certificate_
    >>> for pair, proof in proofs.items():
    ...     print(f"{pair[0]} against {pair[1]}: optimum {proof.primal:.3f}")
    0 against 1: optimum 4.875
    0 against 2: optimum 2.131
    1 against 2: optimum 34.059
    """

    def __str__(self) -> str:
        return "\n".join(f"{pair[0]} against {pair[1]}: {proof}" for pair, proof in self.items())  # type: ignore[index]


class InfeasibleError(ValueError):
    """The problem has no solution; ``certificate`` is the proof.

    Parameters
    ----------
    message : str
    certificate : Certificate

    See Also
    --------
    SVR : Raises it at C = inf where no function has residuals of at most epsilon.

    Examples
    --------
    Equal rows with different targets have no function through both:

    >>> from maxmargin import SVR, InfeasibleError
    >>> try:
    ...     SVR(C=float("inf"), epsilon=0.1).fit([[0.0], [0.0], [1.0]], [0.0, 1.0, 0.0])
    ... except InfeasibleError as error:
    ...     print(type(error.certificate).__name__)
    RegressionGap
    """

    def __init__(self, message: str, certificate: Certificate) -> None:
        super().__init__(message)
        self.certificate = certificate

    def __reduce__(self) -> tuple[type, tuple[str, Certificate]]:
        return type(self), (str(self), self.certificate)
