"""Stand-ins of scikit-learn's classes: what they accept, scikit-learn accepts, too."""

import math
from numbers import Integral, Real

import numpy as np
import pytest
from sklearn.utils import _param_validation as original

from maxmargin.data import stand_ins

CONSTRAINTS = [
    *(stand_ins.Interval(kind, left, right, closed=closed)
      for kind in (Integral, Real)
      for left, right in ((0, None), (None, 1), (0, 2), (1, 100))
      for closed in ("left", "right", "both", "neither")
      if not (kind is Integral and ((left is None and closed in ("left", "both"))
                                    or (right is None and closed in ("right", "both"))))),
    stand_ins.StrOptions({"auto", "newton"}), "boolean", "random_state", "verbose", None, Integral, dict,
]  # fmt: skip
VALUES = [
    0, 1, -1, 2, 100, 2**32, 0.0, 0.5, 1.0, 1e300, math.inf, -math.inf, math.nan, True, False, None, "auto", "old", {},
    np.int64(1), np.float32(0.5), np.bool_(True), np.array([1.0]), [1], object(),
]  # fmt: skip


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda constraint: type(constraint).__name__)
def test_what_is_accepted_is_what_scikit_learn_accepts(constraint):
    judge = original.make_constraint(stand_ins._original(constraint))
    accepted = [value for value in VALUES if stand_ins._accepts(constraint, value)]
    assert accepted, "the constraint accepts nothing plain"
    assert all(judge.is_satisfied_by(value) for value in accepted)


def test_what_is_not_plainly_right_is_judged_by_scikit_learn():
    constraints = {"C": [stand_ins.Interval(Real, 0.0, None, closed="neither")], "seed": ["random_state"]}
    stand_ins.validate_parameter_constraints(constraints, {"C": 1.0, "seed": np.random.RandomState(0)}, "Model")
    with pytest.raises(original.InvalidParameterError, match="The 'C' parameter of Model must be a float in the range"):
        stand_ins.validate_parameter_constraints(constraints, {"C": -1.0, "seed": 0}, "Model")


def test_methods_that_some_objects_lack():
    class Thing(stand_ins.BaseEstimator):
        def __init__(self, has=True):
            self.has = has

        @stand_ins.available_if(lambda self: self.has)
        def method(self):
            return "found"

    assert Thing().method() == "found"
    assert not hasattr(Thing(has=False), "method")
    assert Thing().set_params(has=False).get_params() == {"has": False}
    with pytest.raises(ValueError, match="Invalid parameter 'had'"):
        Thing().set_params(had=True)
