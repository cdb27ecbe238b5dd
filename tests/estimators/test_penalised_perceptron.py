"""The perceptron with a penalty: scikit-learn's coefficients, and no mistake bound."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import Perceptron as Rival
from sklearn.preprocessing import scale

from maxmargin import MarginBracket, MistakeBound, Perceptron, Status, certify, load, save

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning", "ignore::UserWarning")

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 3.0])
@pytest.mark.parametrize("tol", [None, 1e-3])
def test_the_coefficients_are_scikit_learns(penalty, alpha, tol):
    settings = {"penalty": penalty, "alpha": alpha, "l1_ratio": 0.3, "eta0": 0.5, "tol": tol, "max_iter": 12}
    for points, labels in ((X, Y), load_iris(return_X_y=True)):
        ours = Perceptron(**settings, shuffle=False).fit(points, labels)
        theirs = Rival(**settings, shuffle=False).fit(points, labels)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-9)
        assert ours.n_iter_ == theirs.n_iter_
    if tol is not None:
        return
    # Where rows are sparse, scikit-learn's intercept moves by a hundredth of the step, and its norms are those of the
    # columns of one row.
    rows = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    ours = Perceptron(**settings, shuffle=False, fit_intercept=False).fit(rows, Y)
    theirs = Rival(**settings, shuffle=False, fit_intercept=False).fit(sp.csr_matrix(rows), Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)


def test_streams_are_scikit_learns():
    ours = Perceptron(penalty="elasticnet", alpha=1e-3)
    theirs = Rival(penalty="elasticnet", alpha=1e-3, shuffle=False)
    for part in np.array_split(np.arange(len(Y)), 4):
        ours.partial_fit(X[part], Y[part], classes=[0, 1])
        theirs.partial_fit(X[part], Y[part], classes=[0, 1])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)


def test_the_certificate_claims_no_mistake_bound(tmp_path):
    model = Perceptron(penalty="l1", alpha=1e-3, max_iter=5).fit(X, Y)
    assert isinstance(model.certificate_, MarginBracket)
    assert model.status_ is Status.ITERATION_LIMIT
    model.certificate_.check(certify(model, X, Y))
    save(model, tmp_path / "model.mm", X, Y)
    back = load(tmp_path / "model.mm")
    assert back.certificate_ == model.certificate_
    # Without a factor there is no penalty.
    plain = Perceptron(penalty="l1", alpha=0.0, max_iter=5).fit(X, Y)
    assert isinstance(plain.certificate_, MistakeBound)
    np.testing.assert_array_equal(plain.coef_, Perceptron(max_iter=5).fit(X, Y).coef_)


@pytest.mark.parametrize("parameters", [{"rule": "batch"}, {"average": True}, {"normalize": True}])
def test_what_is_not_defined_is_refused(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        Perceptron(penalty="l2", **parameters).fit(X, Y)
    if "rule" not in parameters:  # the batch rule has no partial_fit
        with pytest.raises(ValueError, match=next(iter(parameters))):
            Perceptron(penalty="l2", **parameters).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="penalty=None"):
        Perceptron(penalty="l2").fit_blocks([(X, Y)])


@pytest.mark.parametrize("change", [{"penalty": None}, {"alpha": 0.0}, {"penalty": "l1"}])
def test_a_stream_keeps_its_penalty(change):
    """Updates that a penalty undid are more than the mistake bound of the rest of the stream allows."""
    model = Perceptron(penalty="l2", alpha=0.9).partial_fit(X, Y, classes=[0, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=f"{next(iter(change))} was changed"):
        model.set_params(**change).partial_fit(X, Y)
    np.testing.assert_array_equal(model.coef_, before)
