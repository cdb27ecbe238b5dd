"""Perceptrons on blocks of rows: the run of ``fit`` without shuffling, its mistake bound, in the memory of a block."""

import gc
import signal
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from maxmargin import Perceptron, certify, load, save
from maxmargin.cli.stream import mistakes_entry
from maxmargin.files import open_store, write_store
from maxmargin.solvers.core import LimitWarning, Status

X, LABELS = load_iris(return_X_y=True)
TARGETS = {"separable": LABELS == 0, "inseparable": LABELS == 1, "three classes": LABELS}


def cut(X, y, size):
    """Blocks of rows."""
    return [(X[k : k + size], y[k : k + size]) for k in range(0, len(y), size)]


@settings(max_examples=40, deadline=None)
@given(
    y=st.sampled_from(list(TARGETS)),
    size=st.integers(20, 160),
    passes=st.integers(1, 5),
    normalize=st.booleans(),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
    sparse=st.booleans(),
)
def test_a_run_on_blocks_is_that_of_fit(y, size, passes, normalize, fit_intercept, weighted, sparse):
    y, rows = TARGETS[y], sp.csr_array(X) if sparse else X
    class_weight = {label: 1.0 + k for k, label in enumerate(np.unique(y).tolist())} if weighted else None
    parameters = {"normalize": normalize, "fit_intercept": fit_intercept, "class_weight": class_weight}
    model = Perceptron(**parameters).fit_blocks(cut(rows, y, size), passes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        whole = Perceptron(shuffle=False, max_iter=passes, **parameters).fit(rows, y)
    # Classes that are separated make no more passes in ``fit``, and updates in neither.
    assert model.coef_.tobytes() == whole.coef_.tobytes()
    assert np.array_equal(model.n_updates_, whole.n_updates_)
    assert (model.status_ is Status.SOLVED) == (whole.status_ is Status.SOLVED)
    proven = certify(model, rows, y)
    model.certificate_.check(proven)
    proven.check(model.certificate_)


def test_gamma_is_chosen_by_the_same_sample_as_on_all_rows_at_once():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((20_001, 5))
    y = X[:, 0] + 0.3 * generator.standard_normal(20_001) > 0.0
    model = Perceptron().fit_blocks(cut(X, y, 777), passes=2)
    proven = certify(model, X, y)
    assert model.certificate_.gamma == pytest.approx(proven.gamma, rel=1e-10)
    assert model.certificate_.bound == pytest.approx(proven.bound, rel=1e-10)
    assert model.certificate_.examples == 40_002


def test_memory_does_not_grow_with_the_number_of_blocks():
    class Rows:
        """Blocks that are made when they are read, by a rule that is almost linear."""

        def __init__(self, n_blocks):
            self.n_blocks = n_blocks

        def __iter__(self):
            for number in range(self.n_blocks):
                generator = np.random.default_rng(number)
                X = generator.standard_normal((2000, 20))
                yield X, X[:, 0] + 0.1 * generator.standard_normal(2000) > 0.0

    def peak(n_blocks):
        tracemalloc.start()
        Perceptron().fit_blocks(Rows(n_blocks), passes=1)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    Perceptron().fit_blocks(Rows(2))
    gc.disable()
    try:
        few, many = peak(4), peak(40)
    finally:
        gc.enable()
    assert many < few + 400_000, (few, many)


def test_a_store_is_read_block_by_block_and_the_file_holds_the_proof(tmp_path):
    write_store(tmp_path / "iris.store", cut(X, LABELS, 40))
    model = Perceptron().fit_blocks(open_store(tmp_path / "iris.store"), passes=3)
    assert model.coef_.tobytes() == Perceptron().fit_blocks(cut(X, LABELS, 7), passes=3).coef_.tobytes()
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    again.certificate_.check(certify(again, X, LABELS))
    assert again.certificate_ == model.certificate_


def test_what_cannot_be_learned_from_blocks_is_refused():
    blocks = cut(X, LABELS, 50)
    with pytest.raises(TypeError, match="read only once"):
        Perceptron().fit_blocks(iter(blocks))
    with pytest.raises(ValueError, match="passes must be a whole number"):
        Perceptron().fit_blocks(blocks, passes=0)
    with pytest.raises(ValueError, match="balanced"):
        Perceptron(class_weight="balanced").fit_blocks(blocks)
    with pytest.raises(ValueError, match="only one class"):
        Perceptron().fit_blocks(blocks[:1])
    with pytest.raises(ValueError, match="no rows"):
        Perceptron().fit_blocks([])
    with pytest.raises(ValueError, match="NaN"):
        Perceptron().fit_blocks([*blocks, (np.full((1, 4), np.nan), [0])])
    with pytest.raises(ValueError, match="features"):
        Perceptron().fit_blocks([*blocks, (np.zeros((1, 5)), [0])])
    assert not hasattr(Perceptron(rule="batch"), "fit_blocks")


def test_a_run_that_ends_inside_of_a_pass_says_what_it_has_seen():
    class Blocks:
        """Ctrl-C comes at the sixth block of the second pass; the labels are read before the first one."""

        n_readings = 0

        def __iter__(self):
            self.n_readings += 1
            for number, block in enumerate(cut(X, LABELS == 1, 10)):
                if (self.n_readings, number) == (3, 5):
                    signal.raise_signal(signal.SIGINT)
                yield block

    model = Perceptron()
    with pytest.raises(KeyboardInterrupt):
        model.fit_blocks(Blocks(), passes=100)
    assert model.status_ is Status.INTERRUPTED
    seen = model.rows_evaluated_per_pass_
    assert seen[0] == 150
    assert 50 <= seen[1] <= 60
    text = mistakes_entry(model, 150).text
    assert f"over 150 rows, {seen[1]} of them in the last pass" in text
    whole = mistakes_entry(Perceptron().fit_blocks(cut(X, LABELS == 1, 10), passes=2), 150).text
    assert "over 150 rows, each" in whole


def test_limits_leave_a_model_whose_bound_holds():
    with pytest.warns(LimitWarning, match="max_time"):
        model = Perceptron(max_time=1e-9).fit_blocks(cut(X, LABELS, 10), passes=100)
    assert model.status_ is Status.TIME_LIMIT
    model.certificate_.check(certify(model, X, LABELS))
    model = Perceptron()
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        model.fit_blocks(cut(X, LABELS == 1, 10), passes=10**9)
    assert model.status_ is Status.INTERRUPTED
    model.certificate_.check(certify(model, X, LABELS == 1))
