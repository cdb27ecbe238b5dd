"""Arrays of other libraries and sparse results, as scikit-learn is configured."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.datasets import load_diabetes, load_iris

import maxmargin as mm
from maxmargin import load, save

X, Y = load_iris(return_X_y=True)
KINDS = {"spmatrix": sp.csr_matrix, "sparray": sp.csr_array}

# SciPy decides when it is imported whether it takes arrays of other libraries: these tests need a new process.
FOREIGN_ROWS = """
import array_api_strict as xp
import numpy as np
import sklearn
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import cross_val_score
import maxmargin as mm

X, y = load_iris(return_X_y=True)
weights = np.linspace(0.5, 2.0, 150)
models = [
    (mm.LogisticRegression(), X, y), (mm.LogisticRegression(), X, y > 0), (mm.LinearSVC(), X, y),
    (mm.Ridge(), *load_diabetes(return_X_y=True)), (mm.Lasso(), *load_diabetes(return_X_y=True)),
]
for model, rows, targets in models:
    targets, own = targets.astype(float), np.resize(weights, len(rows))
    expected = sklearn.base.clone(model).fit(rows, targets, own)
    with sklearn.config_context(array_api_dispatch=True):
        given = xp.asarray(rows), xp.asarray(targets)
        model.fit(*given, xp.asarray(own))
        # scikit-learn's tag for array API support asks for attributes in the library of the rows.
        assert isinstance(model.coef_, np.ndarray) and not model.__sklearn_tags__().array_api_support
        assert np.array_equal(model.coef_, expected.coef_)
        for name in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
            if hasattr(model, name):
                found = getattr(model, name)(given[0])
                assert isinstance(found, type(given[0])), (model, name, type(found))
                assert np.array_equal(np.asarray(found), getattr(expected, name)(rows)), (model, name)
        assert float(model.score(*given)) == expected.score(rows, targets)
        assert mm.certify(model, *given, sample_weight=xp.asarray(own)) == expected.certificate_
"""


def test_rows_of_the_array_api_standard_are_taken_and_predictions_are_of_their_kind():
    pytest.importorskip("array_api_strict")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FOREIGN_ROWS], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("interface", KINDS)
def test_sparse_results_are_of_the_configured_kind(interface, tmp_path):
    kind, rows = KINDS[interface], sp.csr_array(X)
    with sklearn.config_context(sparse_interface=interface):
        for model in (mm.SVC(kernel="linear"), mm.NuSVC(kernel="linear", nu=0.2), mm.SVR(kernel="linear")):
            model.fit(rows, Y)
            for name in ("support_vectors_", "dual_coef_", "coef_"):
                assert type(getattr(model, name)) is kind, name
            np.testing.assert_array_equal(model.predict(rows), model.predict(X))
            save(model, tmp_path / "model.mm")
            again = load(tmp_path / "model.mm")
            assert type(again.support_vectors_) is kind
            np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
        for model in (mm.LogisticRegression(), mm.LinearSVC(), mm.Perceptron()):
            dense = model.fit(X, Y).coef_
            assert type(model.sparsify().coef_) is kind
            assert (model.coef_.toarray() == dense).all()
            assert model.score(X, Y) > 0.6
        assert type(mm.Lasso(alpha=1.0).fit(*load_diabetes(return_X_y=True)).sparse_coef_) is kind
