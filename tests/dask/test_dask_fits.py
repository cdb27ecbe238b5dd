"""Fits on Dask collections: the same bits wherever partitions are, true certificates, lost workers, clear errors."""

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import dask
import maxmargin.engine.executors as executors_module
from dask_collections import collections, numbers
from maxmargin import (
    SVC,
    BayesianRegression,
    Lasso,
    LimitWarning,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    Perceptron,
    Ridge,
    certify,
    save,
    separate,
)
from maxmargin import load as load_model
from maxmargin.certificates import bracket_hard_margin
from maxmargin.data import Dataset, Points
from maxmargin.engine import Block, MemoryEngine, Threads
from maxmargin.engine.executors import ClusterError, Executor, array_of_chunks
from maxmargin.engine.rounds import size_of
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.linear_svm import LOSSES as SVM_LOSSES
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core import step_listener
from maxmargin.solvers.core.hessian import HessianOperator
from maxmargin.solvers.linear import newton_system, sparse_gram
from real_data import load


def classes():
    """Sparse rows in partitions of very different size: two classes, one class, none, and the rest."""
    X, y = load("mushrooms")
    order = np.concatenate(
        [np.flatnonzero(y == y.max())[:900], np.flatnonzero(y == y.max())[900:], np.flatnonzero(y != y.max())]
    )
    order[900:] = np.random.default_rng(0).permutation(order[900:])
    return sp.csr_array(X[order]), y[order], [0, 5, 900, 900, 2000, X.shape[0]]


def same_bits(one, other):
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert np.asarray(one.intercept_).tobytes() == np.asarray(other.intercept_).tobytes()
    assert np.asarray(one.dual_coef_).tobytes() == np.asarray(other.dual_coef_).tobytes()
    assert one.certificate_ == other.certificate_


CLASSIFIERS = [
    {"C": 0.1, "tol": 1e-6},
    {"loss": "squared_hinge", "C": 0.01, "tol": 1e-6, "class_weight": "balanced"},
    {"penalize_intercept": True, "C": 0.01, "tol": 1e-5},
    {"fit_intercept": False, "C": 0.01},
]


@pytest.mark.parametrize("parameters", CLASSIFIERS, ids=str)
def test_a_classifier_on_partitions_has_the_objective_of_the_one_in_memory(parameters):
    X, y, cuts = classes()
    weights = np.random.default_rng(2).uniform(0.0, 2.0, y.size)
    dX, dy, dw = collections(X, y, cuts, weights)
    found, reference = LinearSVC(**parameters).fit(dX, dy, dw), LinearSVC(**parameters).fit(X, y, weights)
    assert found.status_ == "solved"
    assert found.certificate_.relative <= found.tol
    # Each objective is within its gap of the optimum, and each dual value bounds both.
    assert found.certificate_.dual <= reference.certificate_.primal
    assert reference.certificate_.dual <= found.certificate_.primal
    # What is claimed of the partitions holds for the rows in memory.
    found.certificate_.check(certify(found, X, y, weights))
    assert certify(found, dX, dy, dw) == found.certificate_
    assert found.predict(dX).compute().tolist() == found.predict(X).tolist()
    np.testing.assert_array_equal(found.decision_function(dX).compute(), found.decision_function(X))
    assert float(found.score(dX, dy, dw).compute()) == pytest.approx(found.score(X, y, weights), rel=1e-12)
    assert list(found.dual_coef_.chunks[1]) == [last - first for first, last in pairwise(cuts)]


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_a_regression_on_partitions_has_the_objective_of_the_one_in_memory(loss):
    X, y, cuts = numbers()
    dX, dy = collections(X, y, cuts)
    parameters = {"C": 0.1, "epsilon": 0.1, "tol": 1e-6, "loss": loss}
    found, reference = LinearSVR(**parameters).fit(dX, dy), LinearSVR(**parameters).fit(X, y)
    assert found.certificate_.relative <= found.tol
    assert found.certificate_.dual <= reference.certificate_.primal
    assert reference.certificate_.dual <= found.certificate_.primal
    found.certificate_.check(certify(found, X, y))
    assert float(found.score(dX, dy).compute()) == pytest.approx(found.score(X, y), rel=1e-9)


LOGISTIC = [{"C": 1.0, "tol": 1e-6}, {"C": 0.01, "fit_intercept": False}, {"C": 1e3, "class_weight": "balanced"}]


@pytest.mark.parametrize("parameters", LOGISTIC, ids=str)
def test_logistic_regression_on_partitions_has_the_objective_of_the_one_in_memory(parameters):
    X, y, cuts = classes()
    weights = np.random.default_rng(2).uniform(0.0, 2.0, y.size)
    dX, dy, dw = collections(X, y, cuts, weights)
    found, reference = (LogisticRegression(**parameters).fit(*data) for data in ((dX, dy, dw), (X, y, weights)))
    assert found.status_ == "solved"
    agree(found, reference, (dX, dy, dw), (X, y, weights))
    np.testing.assert_array_equal(found.predict_proba(dX).compute(), found.predict_proba(X))
    np.testing.assert_array_equal(found.predict_log_proba(dX).compute(), found.predict_log_proba(X))
    assert found.rounds_ <= 4 * found.n_iter_ + 12


@pytest.mark.parametrize("n_zero", [0, 500])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("lam", [0.0, 1e-3, 10.0, None])
def test_squared_errors_on_partitions_have_the_solution_of_those_in_memory(lam, intercept, sparse, n_zero):
    X, y, cuts = numbers()
    weights = np.random.default_rng(2).uniform(0.0, 2.0, y.size)
    weights[1000 : 1000 + n_zero] = 0.0
    X = sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0)) if sparse else X
    dX, dy, dw = collections(X, y, cuts, weights)
    model = BayesianRegression if lam is None else partial(Ridge, alpha=lam)
    found, reference = (model(fit_intercept=intercept).fit(*data) for data in ((dX, dy, dw), (X, y, weights)))
    assert found.status_ == "solved"
    agree(found, reference, (dX, dy, dw), (X, y, weights))
    np.testing.assert_allclose(found.coef_, reference.coef_, rtol=1e-9, atol=1e-9)
    assert found.rounds_ <= 9
    if lam is None:
        assert found.s2_ == pytest.approx(reference.s2_, rel=1e-9)
        assert found.degrees_of_freedom_ == pytest.approx(reference.degrees_of_freedom_, rel=1e-12)
        np.testing.assert_allclose(found.posterior_scale_, reference.posterior_scale_, rtol=1e-8, atol=1e-15)


def agree(found, reference, in_partitions, in_memory):
    """Each objective is within its gap of the optimum, and what is claimed of partitions holds in memory."""
    assert found.certificate_.relative <= found.tol
    assert found.certificate_.dual <= reference.certificate_.primal
    assert reference.certificate_.dual <= found.certificate_.primal
    found.certificate_.check(certify(found, *in_memory))
    assert certify(found, *in_partitions) == found.certificate_
    np.testing.assert_allclose(found.predict(in_partitions[0]).compute(), found.predict(in_memory[0]), rtol=1e-12)
    score = float(found.score(*in_partitions).compute())
    assert score == pytest.approx(found.score(*in_memory), rel=1e-9)


def test_regressions_on_wide_rows_are_solved_without_a_matrix():
    X, y = load("sms-spam")
    targets = np.where(y == y.max(), 1.0, -1.0)
    dX, dy = collections(X, targets, [0, 2000, 3000, X.shape[0]])
    for model in (Ridge(alpha=1.0, tol=1e-4), LogisticRegression(C=1.0, tol=1e-3)):
        model.fit(dX, dy)
        assert model.certificate_.relative <= model.tol
        model.certificate_.check(certify(model, X, targets))
    with pytest.raises(ValueError, match="alpha above zero"):
        Ridge(alpha=0.0).fit(dX, dy)
    with pytest.raises(ValueError, match="too few rows"):
        BayesianRegression().fit(dX, dy)


def test_least_squares_of_columns_far_from_zero_and_of_dependent_ones():
    X, y, cuts = numbers()
    dX, dy = collections(X + 1e3, y, cuts)
    np.testing.assert_allclose(BayesianRegression().fit(dX, dy).coef_, BayesianRegression().fit(X, y).coef_, rtol=1e-9)
    assert Ridge(alpha=1.0).fit(dX, dy).status_ == "solved"
    twice = np.hstack([X, X[:, :2]])
    dX, dy = collections(twice, y, cuts)
    with pytest.raises(ValueError, match="combinations of others"):
        BayesianRegression().fit(dX, dy)
    # Of several solutions, the shortest one.
    np.testing.assert_allclose(Ridge(alpha=0.0).fit(dX, dy).coef_, Ridge(alpha=0.0).fit(twice, y).coef_, rtol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_separability_of_partitions_is_that_of_all_rows(noise, intercept):
    generator = np.random.default_rng(5)
    X = generator.standard_normal((20_000, 8))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] + noise * generator.standard_normal(20_000) > 0, "yes", "no")
    dX, dy = collections(X, y, [0, 1, 7000, 7000, 20_000])
    found, reference = separate(dX, dy, intercept), separate(X, y, intercept)
    assert found.separable is reference.separable is (noise == 0.0)
    assert found.status == reference.status
    weights, signs = found.hull_weights.compute(), np.where(y == "yes", 1.0, -1.0)
    assert list(found.hull_weights.chunks[0]) == [1, 6999, 0, 13_000]
    problem = HardMarginProblem(Dataset(Points(X), signs), intercept)
    bracket = bracket_hard_margin(problem, found.coef, found.intercept, weights * signs)
    if found.separable:
        assert found.certificate.relative <= 1e-6
        # Both bounds hold for all rows.
        assert bracket.lower == pytest.approx(found.certificate.lower, rel=1e-9)
        assert found.certificate.lower <= reference.certificate.upper
        assert reference.certificate.lower <= found.certificate.upper
    else:
        assert bracket.hulls_meet
    assert found.rounds <= 12


@pytest.mark.parametrize("model", [LinearSVC(), LogisticRegression(C=1.0, multi_class="ovr")], ids=["svc", "logistic"])
def test_a_data_frame_of_three_classes(model):
    X, _, _ = numbers(900, 4)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])]
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(label=y)
    partitions = dd.from_pandas(frame, npartitions=3)
    model.fit(partitions[list("pqrs")], partitions["label"])
    assert model.feature_names_in_.tolist() == list("pqrs")
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.dual_coef_ if isinstance(model, LinearSVC) else model._dual_point).shape == (3, 900)
    assert (model.predict(partitions[list("pqrs")]).compute() == model.predict(frame[list("pqrs")])).all()
    model.certificate_.check(certify(model, frame[list("pqrs")], y))


def test_a_time_limit_holds_on_partitions():
    X, y, cuts = classes()
    dX, dy = collections(X, y, cuts)
    with pytest.warns(LimitWarning, match="max_time"):
        model = LogisticRegression(C=1e6, tol=1e-12, max_time=1e-3).fit(dX, dy)
    model.certificate_.check(certify(model, X, y))
    assert LinearSVC(C=0.1, max_time=60.0).fit(dX, dy).status_ == "solved"


@pytest.mark.parametrize("model", [LogisticRegression(C=1.0), Ridge(alpha=1.0), BayesianRegression()], ids=repr)
def test_regressions_of_partitions_are_saved_with_their_dual_point(model, tmp_path):
    X, y, _ = numbers(600, 5)
    y = np.sign(y - y.mean()) if isinstance(model, LogisticRegression) else y
    dX, dy = collections(X, y, [0, 200, 200, 600])
    save(model.fit(dX, dy), tmp_path / "model", X, y)
    again = load_model(tmp_path / "model")
    assert again.certificate_ == model.certificate_
    again.certificate_.check(certify(again, dX, dy))


def test_a_model_of_partitions_is_saved_with_its_duals(tmp_path):
    X, y, cuts = classes()
    dX, dy = collections(X, y, cuts)
    model = LinearSVC(C=0.1).fit(dX, dy)
    save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    same_bits(model, again)
    again.certificate_.check(certify(again, dX, dy))


@pytest.mark.parametrize("way", ["products", "sparse matrix", "rows"])
def test_wide_rows_are_solved_without_a_dense_matrix(way, monkeypatch):
    """By conjugate gradients, one product a round, by the sparse matrix of few rows, or by these where allowed."""
    sent, collect = [], way == "rows"
    if way == "products":
        monkeypatch.setattr(sparse_gram, "NUMBERS_PER_ENTRY", 1e6)
    rows_of = newton_system._free_rows
    monkeypatch.setattr(newton_system, "_free_rows", lambda block: sent.append(block) or rows_of(block))
    X, y = load("sms-spam")
    dX, dy = collections(X, y, [0, 2000, 3000, X.shape[0]])
    with dask.config.set({"maxmargin.collect-rows": collect}):
        model = LinearSVC(C=0.1, tol=1e-3).fit(dX, dy)
    assert model.certificate_.relative <= 1e-3
    assert bool(sent) == collect
    if way != "products":
        assert model.rounds_ <= 5 * model.n_iter_ + 12
    model.certificate_.check(certify(model, X, y))


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("penalize", [False, True])
def test_the_dual_value_of_combined_duals_is_that_of_the_duals_on_the_partitions(fit_intercept, penalize):
    """The client adds up w and the linear terms, the partitions the duals: both are the same point."""
    if penalize and not fit_intercept:
        pytest.skip("there is nothing to penalise")
    X, y = load("sms-spam")
    dX, dy = collections(X, y, [0, 2000, 3000, X.shape[0]])
    model = LinearSVC(C=1.0, tol=1e-2, fit_intercept=fit_intercept, penalize_intercept=penalize).fit(dX, dy)
    _, _, dual = model.history_[-1]
    assert model.certificate_.dual == pytest.approx(dual, rel=1e-9)
    duals = np.abs(np.asarray(model.dual_coef_))
    assert duals.max() <= 1.0


def test_rounds_on_wide_rows_do_not_grow_with_the_partitions():
    X, y = load("sms-spam")
    found = [
        LinearSVC(C=0.1, tol=1e-3).fit(*collections(X, y, np.linspace(0, X.shape[0], k + 1).astype(int).tolist()))
        for k in (2, 7, 16)
    ]
    assert all(model.certificate_.relative <= 1e-3 for model in found)
    rounds = [model.rounds_ for model in found]
    assert max(rounds) <= 1.1 * min(rounds)


@pytest.mark.parametrize("n_partitions", [2, 16])
def test_separable_rows_of_counts_take_few_rounds_by_their_sparse_matrix(n_partitions, monkeypatch):
    """Products with matrices that are so ill-conditioned took 2,051 to 2,993 rounds; the sum of matrices is small."""
    sizes = []
    find = sparse_gram.SparseGram.find

    def found(*arguments):
        lower = find(*arguments)
        sizes.append(0 if lower is None else lower.nnz)
        return lower

    monkeypatch.setattr(sparse_gram.SparseGram, "find", found)
    X, y = load("sms-spam")
    cuts = np.linspace(0, X.shape[0], n_partitions + 1).astype(int).tolist()
    model = LinearSVC(C=10.0, tol=1e-3).fit(*collections(X, y, cuts))
    assert model.certificate_.relative <= 1e-3
    assert model.rounds_ <= 120
    model.certificate_.check(certify(model, X, y))
    assert 0 < max(sizes) * sparse_gram.NUMBERS_PER_ENTRY <= newton_system.SENT_VECTORS * (X.shape[1] + 1)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_system_of_a_sparse_matrix_has_the_solution_of_the_dense_one(fit_intercept):
    generator = np.random.default_rng(0)
    X = sp.random_array((60, 25), density=0.2, format="csr", rng=generator)
    weights, free = generator.random(60), generator.random(60) < 0.7
    loss = SVM_LOSSES["hinge"](np.ones(60), weights, 1.0)
    problem = LinearSVMProblem(Points(X), loss, 0.0 if fit_intercept else np.inf)
    parts = [
        Block(problem, np.arange(first, first + 20, dtype=np.uint32), {"free": free[first : first + 20]})
        for first in (0, 20, 40)
    ]
    lower = sum((sparse_gram._lower_half(part, 1e9) for part in parts[1:]), sparse_gram._lower_half(parts[0], 1e9))
    rows = np.hstack([X.toarray(), np.ones((60, 1))])[free]
    dense = rows.T @ (weights[free][:, None] * rows)
    np.testing.assert_allclose(lower.toarray(), np.tril(dense), atol=1e-14)
    assert lower.nnz <= sum(map(sparse_gram._most_entries, parts))
    assert sparse_gram._lower_half(parts[0], 1.0).nnz == 0
    engine = MemoryEngine(problem, Threads(1))
    hessian = HessianOperator(engine, "", 3.0, True, fit_intercept, 0.0)
    right = generator.standard_normal(26)
    right[-1] *= fit_intercept
    found = sparse_gram.solve_sparse(hessian, lower, right, bool)
    matrix = 3.0 * dense + np.diag([*np.ones(25), 0.0])
    if not fit_intercept:
        matrix[-1], matrix[:, -1], matrix[-1, -1] = 0.0, 0.0, 1.0
    residual = right - matrix @ found
    scale = 1.0 / np.diag(matrix)
    assert residual @ (scale * residual) <= 1.01 * sparse_gram.FORCING**2 * (right @ (scale * right))


def test_separable_rows_of_counts_take_few_rounds_and_few_rows_are_sent(monkeypatch):
    """The systems are too ill-conditioned for conjugate gradients, but the free rows are less than the vectors."""
    sizes = []
    rows_of = newton_system._collected
    monkeypatch.setattr(
        newton_system, "_collected", lambda parts: sizes.append(sum(rows.nnz for rows, _ in parts)) or rows_of(parts)
    )
    X, y = load("sms-spam")
    with dask.config.set({"maxmargin.collect-rows": True}):
        model = LinearSVC(C=10.0, tol=1e-3).fit(*collections(X, y, [0, 2000, 3000, X.shape[0]]))
    assert model.certificate_.relative <= 1e-3
    assert model.rounds_ <= 120
    assert max(sizes) <= 1.5 * newton_system.SENT_VECTORS * X.shape[1]


@pytest.mark.parametrize("name", ["svc", "svr", "logistic", "ridge", "bayes"])
def test_no_rows_are_collected(name, monkeypatch):
    """Each answer of a partition has the size of some vectors over the columns, or of a matrix, however many rows."""
    largest = []
    ask = Executor.run_round

    def run_round(executor, partitions, states, message):
        states, totals = ask(executor, partitions, states, message)
        largest.append(max([size_of(total) for total in totals], default=0))
        return states, totals

    monkeypatch.setattr(Executor, "run_round", run_round)
    generator = np.random.default_rng(4)
    X = generator.standard_normal((12_000, 3))
    y = np.where(X[:, 0] + 0.3 * generator.standard_normal(12_000) > 0.0, 1.0, -1.0)
    model = {
        "svc": LinearSVC(tol=1e-3),
        "svr": LinearSVR(tol=1e-3),
        "logistic": LogisticRegression(C=1.0),
        "ridge": Ridge(alpha=1.0),
        "bayes": BayesianRegression(),
    }[name]
    sizes = []
    for n_rows in (6_000, 12_000):
        largest.clear()
        model.fit(*collections(X[:n_rows], y[:n_rows], [0, 1000, 2500, n_rows]))
        sizes.append(max(largest))
    # Bytes; a partition has at least 24,000 of rows.
    assert sizes[0] == sizes[1] <= 2_000


def test_the_mean_of_the_partitions_solutions_is_a_start_and_no_row_is_sent():
    """Rows in the order of a column are as good as shuffled ones: each partition counts where it knows something."""
    generator = np.random.default_rng(8)
    X = generator.standard_normal((40_000, 10)) * np.linspace(0.2, 3.0, 10)
    y = np.where(X @ generator.standard_normal(10) + 2.0 * generator.standard_normal(40_000) > 0.0, 1, -1)
    ends, found = [0, 8_000, 16_000, 24_000, 32_000, 40_000], {}
    for order in (np.arange(40_000), np.argsort(X[:, 9]), np.argsort(y, kind="stable")):
        for collect in (False, True):
            with dask.config.set({"maxmargin.collect-rows": collect}):
                model = LinearSVC(tol=1e-3).fit(*collections(X[order], y[order], ends))
            assert model.certificate_.relative <= 1e-3
            found.setdefault(collect, []).append(model.n_iter_)
    # Partitions of one class know nothing: that fit begins at the means of the classes.
    assert max(found[False][:2]) <= 2 * max(found[True][:2]) + 2
    assert max(found[False]) <= 20


def test_a_newton_step_takes_four_rounds_at_most():
    generator = np.random.default_rng(3)
    X = generator.standard_normal((20_000, 20))
    y = np.where(X[:, 0] + generator.standard_normal(20_000) > 0, 1, -1)
    dX, dy = collections(X, y, [0, 5000, 20_000])
    model = LinearSVC(tol=1e-6).fit(dX, dy)
    # Two rounds to load and to sample, four for the certificate, and three an outer step besides its Newton steps.
    assert model.rounds_ <= 4 * model.n_iter_ + 3 * len(model.history_) + 8


def test_a_task_writes_to_nothing_but_the_vectors_that_it_declares(monkeypatch):
    changed = []

    def run_round(checked, state, message):
        before = {
            (key, name): values.copy() for key, part in state.parts.items() for name, values in part.vectors.items()
        }
        after = original(checked, state, message)
        for key, part in state.parts.items():
            for name, values in part.vectors.items():
                if values.tobytes() != before[key, name].tobytes():
                    changed.append(
                        (key, name, [operation.task for operation in message.operations if hasattr(operation, "task")])
                    )
        return after

    original = executors_module.run_round
    monkeypatch.setattr(executors_module, "run_round", run_round)
    X, y, cuts = classes()
    LinearSVC(C=0.1, tol=1e-6).fit(*collections(X, y, cuts))
    X, y, cuts = numbers()
    LinearSVR(loss="squared_epsilon_insensitive", tol=1e-6).fit(*collections(X, y, cuts))
    assert not changed


def test_sums_of_partitions_are_those_of_the_tree(client):
    executor = executors_module.ClusterExecutor(client)
    parts = np.random.default_rng(0).standard_normal((19, 7))
    answers = client.map(lambda part: [part, [part[0]]], list(parts), pure=False)
    on_cluster, here = executor.added(answers), executors_module.add_answers(*([part, [part[0]]] for part in parts))
    assert on_cluster[0].tobytes() == here[0].tobytes()
    assert on_cluster[1] == here[1] == parts[:, 0].tolist()


def test_the_bits_depend_on_the_partitions_alone(client):
    """The threads of this process, two workers, one worker, chunks of unknown size; two fits at once on one cluster."""
    X, y, cuts = classes()
    dX, dy = collections(X, y, cuts)
    with dask.config.set(scheduler="threads"):
        here = LinearSVC(C=0.1, tol=1e-6).fit(dX, dy)
    unknown = array_of_chunks(list(np.ravel(dX.to_delayed())), ((np.nan,) * 5, (X.shape[1],)), 0, X.dtype)
    found = {}

    def fit(name, data):
        found[name] = LinearSVC(C=0.1, tol=1e-6).fit(data, dy)

    threads = [threading.Thread(target=fit, args=arguments) for arguments in (("known", dX), ("unknown", unknown))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    same_bits(here, found["known"])
    same_bits(here, found["unknown"])
    one_worker = next(iter(client.scheduler_info()["workers"]))
    with dask.annotate(workers=[one_worker], allow_other_workers=False):
        same_bits(here, LinearSVC(C=0.1, tol=1e-6).fit(dX.persist(), dy))


def test_a_killed_worker_costs_a_recompute(client):
    X, y, cuts = classes()
    dX, dy = collections(X, y, cuts)
    with dask.config.set(scheduler="threads"):
        undisturbed = LinearSVC(C=0.1, tol=1e-6).fit(dX, dy)
    processes = list(client.run(os.getpid).values())
    n_steps = []

    def kill(share, _):
        n_steps.append(share)
        if len(n_steps) == 3:
            os.kill(processes[0], signal.SIGKILL)

    token = step_listener.set(kill)
    try:
        model = LinearSVC(C=0.1, tol=1e-6).fit(dX, dy)
    finally:
        step_listener.reset(token)
    assert len(n_steps) > 3
    assert processes[0] not in client.run(os.getpid).values()
    same_bits(undisturbed, model)
    model.certificate_.check(certify(model, X, y))


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_an_error_and_nothing_hangs(monkeypatch):
    monkeypatch.setattr(executors_module, "PATIENCE_WITHOUT_WORKERS", 5.0)
    X, y, cuts = classes()
    dX, dy = collections(X, y, cuts)
    n_steps = []

    def close(share, _):
        n_steps.append(share)
        if len(n_steps) == 2:
            cluster.close()

    with (
        distributed.LocalCluster(n_workers=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        token = step_listener.set(close)
        try:
            with pytest.raises(ClusterError):
                LinearSVC(C=0.1, tol=1e-6).fit(dX, dy)
        finally:
            step_listener.reset(token)


def test_cancelled_futures_are_an_error(client):
    X, y, cuts = classes()
    dX, dy = collections(X, y, cuts)

    def cancel_all(*_):
        client.cancel([distributed.Future(key, client) for key in list(client.futures)], force=True)

    token = step_listener.set(cancel_all)
    try:
        with pytest.raises(ClusterError, match="cancelled"):
            LinearSVC(C=0.1, tol=1e-6).fit(dX, dy)
    finally:
        step_listener.reset(token)


def test_errors_name_the_partition():
    X, y, cuts = numbers()
    broken = X.copy()
    broken[1500, 3] = np.nan
    dX, dy = collections(broken, y, cuts)
    with pytest.raises(ValueError, match=r"partition 2: .*X contains NaN"):
        LinearSVR().fit(dX, dy)
    dX, dy, _ = collections(X, np.where(np.arange(len(y)) == 2000, np.inf, y), cuts, y)
    with pytest.raises(ValueError, match=r"partition 2: .*y contains inf"):
        LinearSVR().fit(dX, dy)
    dX, dy, dw = collections(X, y, cuts, np.where(np.arange(len(y)) == 500, -1.0, 1.0))
    with pytest.raises(ValueError, match=r"partition 1: .*sample_weight"):
        LinearSVR().fit(dX, dy, dw)


def test_collections_that_do_not_fit_together_are_refused():
    X, y, cuts = numbers()
    labels = np.where(y > y.mean(), 1, -1)
    dX, dy = collections(X, labels, cuts)
    with pytest.raises(ValueError, match="X has 3 partitions and y has 2"):
        LinearSVC().fit(dX, collections(X, labels, [0, 500, 3000])[1])
    with pytest.raises(ValueError, match="partition 1: X and y must have as many rows"):
        LinearSVC().fit(dX, collections(X, labels, [0, 1, 1001, 3000])[1])
    with pytest.raises(ValueError, match=r"rechunk\(\{1: -1\}\)"):
        LinearSVC().fit(dX.rechunk({1: 7}), dy)
    with pytest.raises(TypeError, match="X is a Dask collection, and y is not"):
        LinearSVC().fit(dX, labels)
    with pytest.raises(TypeError, match="y is a Dask collection, and X is not"):
        LinearSVC().fit(X, dy)
    with pytest.raises(ValueError, match="only one class, 1"):
        LinearSVC().fit(dX, da.ones_like(dy))
    with pytest.raises(ValueError, match="all of its partitions are empty"):
        LinearSVC().fit(*collections(X[:0], labels[:0], [0, 0, 0]))
    frames = [dask.delayed(X[:100]), dask.delayed(X[:100, :5])]
    ragged = array_of_chunks(frames, ((100, 100), (30,)), 0, float)
    with pytest.raises(ValueError, match="partition 1: X has 5 columns; partition 0 has 30"):
        LinearSVC().fit(ragged, da.from_array(labels[:200], chunks=100))


def test_what_does_not_take_collections_says_what_to_use():
    X, y, _ = numbers(300, 3)
    dX, dy = collections(X, np.where(y > y.mean(), 1, -1), [0, 100, 300])
    for model, advice in ((SVC(), "Nystroem"), (Perceptron(), "partial_fit"), (Lasso(), "compute")):
        with pytest.raises(TypeError, match=f"does not take Dask collections: .*{advice}"):
            model.fit(dX, dy)
    with pytest.raises(TypeError, match="compute X and y"):
        SVC().fit(X, y > y.mean()).predict(dX)
    for parameters in ({"method": "linear_program"}, {"exact": True}):
        with pytest.raises(ValueError, match="collections"):
            separate(dX, dy, **parameters)
    with pytest.raises(ValueError, match="exactly two"):
        separate(dX, da.ones_like(dy))
    for parameters in ({"C": np.inf}, {"solver": "gradient"}, {"warm_start": True}):
        with pytest.raises(ValueError, match="collections"):
            LogisticRegression(**parameters).fit(dX, dy)
    for parameters in (
        {"C": np.inf},
        {"warm_start": True},
        {"solver": "coordinate"},
        {"selection": "cyclic"},
        {"multi_class": "crammer_singer"},
    ):
        with pytest.raises(ValueError, match="collections"):
            LinearSVC(**parameters).fit(dX, dy)


def test_weights_of_zero_everywhere_are_refused():
    X, y, _ = numbers(300, 3)
    dX, dy, dw = collections(X, y, [0, 100, 300], np.zeros(300))
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        LinearSVR().fit(dX, dy, dw)


def test_a_fit_in_memory_does_not_import_dask():
    code = """
import sys, numpy as np
from maxmargin import LinearSVC
X = np.random.default_rng(0).standard_normal((50, 3))
LinearSVC().fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0)
print([name for name in ("dask", "distributed") if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
