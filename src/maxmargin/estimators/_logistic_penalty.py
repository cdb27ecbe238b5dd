"""The penalty of logistic regression by scikit-learn's parameters, those of today and the deprecated one."""

import math
from typing import Any

from maxmargin.data.user_warnings import warn_user
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._regularized import InterceptColumn

# scikit-learn's solvers of the problem without a penalty on the intercept.
SAME_PROBLEM = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")
IDLE_SCALING = (
    "intercept_scaling has no effect on an intercept that is not penalised: set penalize_intercept=True and a finite "
    "C, or leave it at 1."
)


class LogisticPenalty(InterceptColumn, CertifiedModel):
    """The strength of the penalty, and the share of the 1-norm in it; parameters that contradict each other."""

    penalty: Any
    C: float
    l1_ratio: float | None
    solver: str
    step_size: float | None
    penalize_intercept: bool

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
        if self._l1_ratio > 0.0:
            for name, refused in (("dual", True), ("solver", "newton"), ("solver", "gradient")):
                if getattr(self, name) == refused:
                    raise ValueError(
                        f"{name}={refused!r} is not available with a 1-norm in the penalty: leave it out, or set "
                        "l1_ratio=0."
                    )
        if self.step_size is not None and self.solver != "gradient":
            raise ValueError("step_size is the size of gradient steps: set solver='gradient', or leave it out.")
        if self._has_idle_scaling and self.solver not in SAME_PROBLEM:
            raise ValueError(IDLE_SCALING)
        if self.penalize_intercept and not self.fit_intercept:
            raise ValueError("penalize_intercept=True needs fit_intercept=True.")
        if self.solver == "liblinear" and math.isinf(self._inverse_strength):
            raise ValueError(
                "C=np.inf as well as penalty=None is not supported for the liblinear solver: leave solver out."
            )

    @property
    def _has_idle_scaling(self) -> bool:
        return self.intercept_scaling != 1.0 and not self._has_intercept_column

    def _warn_of_parameters(self) -> None:
        """Warn of ``penalty`` where scikit-learn does: it is deprecated there, and ``l1_ratio`` may contradict it."""
        super()._warn_of_parameters()
        if self._has_idle_scaling:
            # In scikit-learn it is the scale of LIBLINEAR's intercept alone: the model is the one that is meant.
            warn_user(IDLE_SCALING, UserWarning)
        penalty, l1_ratio = self.penalty, self.l1_ratio
        if penalty == "deprecated":
            if l1_ratio is None:
                warn_user(
                    "'l1_ratio=None' was deprecated in version 1.8 of scikit-learn: write l1_ratio=0.0.", FutureWarning
                )
            return
        warn_user(
            "'penalty' was deprecated in version 1.8 of scikit-learn: leave it out, and write l1_ratio=0 for "
            "penalty='l2', l1_ratio=1 for penalty='l1', l1_ratio between 0 and 1 for penalty='elasticnet', C=np.inf "
            "for penalty=None.",
            FutureWarning,
        )
        if penalty == "elasticnet":
            return
        if l1_ratio is not None and 0.0 < l1_ratio < 1.0:
            warn_user(
                f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})", UserWarning
            )
        if (penalty == "l2" and l1_ratio != 0.0) or (penalty == "l1" and l1_ratio != 1.0):
            warn_user(
                f"Inconsistent values: penalty={penalty} with l1_ratio={l1_ratio}. penalty is deprecated, and counts; "
                "use l1_ratio only.",
                UserWarning,
            )
        if penalty is None and self.C != 1.0:
            warn_user("Setting penalty=None will ignore the C and l1_ratio parameters", UserWarning)

    @property
    def _inverse_strength(self) -> float:
        return math.inf if self.penalty is None else float(self.C)

    @property
    def _l1_ratio(self) -> float:
        """The share of the 1-norm in the penalty: ``l1_ratio``, unless the deprecated ``penalty`` says otherwise."""
        if math.isinf(self._inverse_strength):
            return 0.0
        if self.penalty in ("deprecated", "elasticnet"):
            return float(self.l1_ratio or 0.0)
        return 1.0 if self.penalty == "l1" else 0.0
