"""Columns far from zero or of very different scales: the same optimum in memory, on disk and on Dask, as certified."""

from fractions import Fraction

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import dask
from maxmargin import BayesianRegression, LinearSVC, LinearSVR, LogisticRegression, Ridge, certify
from maxmargin.data import Points
from maxmargin.data.centring import column_moments, shifted
from maxmargin.engine.executors import array_of_chunks
from maxmargin.files import open_store, write_store

TOL = 1e-4
MODELS = {
    "hinge": LinearSVC(tol=TOL),
    "squared hinge": LinearSVC(loss="squared_hinge", tol=TOL),
    "epsilon": LinearSVR(tol=TOL),
    "logistic": LogisticRegression(tol=TOL),
    "ridge": Ridge(tol=TOL),
}


def rows_and_targets(offset, largest_scale, seed, n_rows=900, n_columns=12):
    """Columns with these offsets and scales; targets are linear in the columns before, with noise."""
    generator = np.random.default_rng(seed)
    standard = generator.standard_normal((n_rows, n_columns))
    scales = np.logspace(-np.log10(largest_scale), np.log10(largest_scale), n_columns)
    X = standard * generator.permutation(scales) + offset * generator.choice([-1.0, 1.0], n_columns)
    return X, standard @ generator.standard_normal(n_columns) + generator.standard_normal(n_rows)


def fits(model, X, targets, folder):
    """The model in memory, on Dask and on disk, and the collections."""
    third = len(targets) // 3
    chunks = ((third, 0, len(targets) - third),)
    y = targets if isinstance(model, (LinearSVR, Ridge, BayesianRegression)) else np.where(targets > 0.0, 1, -1)
    cuts = slice(0, third), slice(third, third), slice(third, None)
    dX = array_of_chunks([dask.delayed(X[cut]) for cut in cuts], (*chunks, (X.shape[1],)), 0, X.dtype)
    dy = da.from_array(y, chunks=chunks)
    write_store(folder / "rows.store", [(X[cut], y[cut]) for cut in cuts])
    found = {
        "memory": clone(model).fit(X, y),
        "dask": clone(model).fit(dX, dy),
        "disk": clone(model).fit(open_store(folder / "rows.store")),
    }
    return found, dX, dy


@pytest.mark.parametrize("offset", [1e4, 1e6])
@pytest.mark.parametrize("largest_scale", [1.0, 1e3])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_columns_far_from_zero_cost_partitions_no_digits(name, offset, largest_scale, tmp_path):
    X, targets = rows_and_targets(offset, largest_scale, seed=3)
    found, dX, dy = fits(MODELS[name], X, targets, tmp_path)
    largest_dual = max(model.certificate_.dual for model in found.values())
    for place in ("dask", "disk"):
        proof = found[place].certificate_
        assert proof.gap <= TOL * proof.primal
        # No objective is below a dual value of the same problem: the rows are shifted exactly.
        assert found[place].objective_ >= largest_dual
        assert proof.primal - largest_dual <= 2.0 * TOL * proof.primal
    again = certify(found["dask"], dX, dy)
    assert again.gap <= TOL * again.primal


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_the_posterior_of_columns_far_from_zero_is_that_in_memory(offset, tmp_path):
    X, targets = rows_and_targets(offset, 1.0, seed=3)
    found, dX, dy = fits(BayesianRegression(), X, targets, tmp_path)
    covariance = np.linalg.inv(899 * np.cov((X - X[0]).T))
    for place in ("dask", "disk"):
        model = found[place]
        assert model.certificate_.relative <= 1e-6
        np.testing.assert_allclose(model.coef_, found["memory"].coef_, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(model.column_means_, X.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(model.coef_factor_ @ model.coef_factor_.T, covariance, rtol=1e-6, atol=1e-12)
        # Both sums of products are rounded, by whichever order of summation this processor's BLAS has.
        sizes = np.abs(X[:5]) @ np.abs(model.coef_) + abs(model.intercept_)
        rounding = 2.0 * (X.shape[1] + 1) * np.finfo(float).eps * sizes
        assert (np.abs(model.predict(X[:5]) - found["memory"].predict(X[:5])) <= rounding + 1e-9).all()
    assert certify(found["dask"], dX, dy).relative <= 1e-6


def test_the_full_columns_of_sparse_rows_are_centred(tmp_path):
    generator = np.random.default_rng(0)
    X = sp.random_array((600, 40), density=0.1, rng=generator, format="lil")
    X[:, [3]] = 1e6 + generator.standard_normal((600, 1))
    X = sp.csr_array(X)
    targets = X[:, [5]].toarray().ravel() - X[:, [9]].toarray().ravel() + 0.1 * generator.standard_normal(600)
    found, _, _ = fits(LogisticRegression(tol=1e-6), X, targets, tmp_path)
    for place in ("dask", "disk"):
        proof = found[place].certificate_
        assert proof.gap <= 1e-6 * proof.primal
        assert abs(proof.primal - found["memory"].objective_) <= 2e-6 * proof.primal


@settings(max_examples=60, deadline=None)
@given(
    mean=st.floats(-1e9, 1e9, allow_subnormal=False),
    deviation=st.floats(1e-6, 1e6),
    outlier=st.floats(-1e12, 1e12, allow_subnormal=False),
    seed=st.integers(0, 100),
)
def test_a_shift_is_exact_or_refused(mean, deviation, outlier, seed):
    column = mean + deviation * np.random.default_rng(seed).standard_normal(40)
    column[7] = outlier
    points = Points(column[:, None].copy())
    offsets = column_moments(Points(np.delete(column, 7)[:, None]), None).offsets(1)
    moved, refused = shifted(points, offsets)
    exact = all(
        Fraction(float(number)) - Fraction(float(offsets[0])) == Fraction(float(found))
        for number, found in zip(column, moved.matrix[:, 0], strict=True)
    )
    assert exact == (refused.size == 0)


def test_constant_columns_become_zero():
    moments = column_moments(Points(np.full((50, 1), 0.1)), None)
    assert moments.merged(column_moments(Points(np.full((9, 1), 0.1)), None)).offsets(1)[0] == 0.1
