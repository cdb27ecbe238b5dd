"""The in-memory engine: blocks with their own slices, sums over a fixed tree, subsets."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.data import Points
from maxmargin.engine import MemoryEngine, Threads
from maxmargin.engine.memory import tree_sum
from maxmargin.engine.threads import ENTRIES_PER_BLOCK


@dataclass(frozen=True)
class Rows:
    points: Points


def rows(n_rows, entries_per_row=ENTRIES_PER_BLOCK / 40, n_columns=5):
    """A sparse matrix of zeros that are stored: as many blocks as wanted from few rows."""
    per_row = int(entries_per_row)
    offsets = per_row * np.arange(n_rows + 1)
    columns = np.tile(np.arange(per_row) % n_columns, n_rows).astype(np.int32)
    matrix = sp.csr_array((np.zeros(per_row * n_rows), columns, offsets), shape=(n_rows, n_columns))
    return Rows(Points(matrix))


def total(block, name):
    return block[name].sum(axis=0)


def bounds(block):
    return block.index[0], block.index[-1] + 1


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
@pytest.mark.parametrize("n_parts", [1, 2, 3, 7, 64])
def test_a_sum_over_a_tree_is_the_sum_and_has_the_same_bits_for_any_number_of_threads(n_parts, n_threads):
    parts = np.random.default_rng(n_parts).standard_normal((n_parts, 5)) * np.geomspace(1e-6, 1e6, 5)
    exact = [math.fsum(column) for column in parts.T]
    error = 8 * 2.0**-53 * np.abs(parts).sum(axis=0)
    with Threads(n_threads) as threads, Threads(1) as alone:
        arrays = tree_sum([part.copy for part in parts], threads)
        floats = tree_sum([lambda part=part: float(part[0]) for part in parts], threads)
        assert arrays.tobytes() == tree_sum([part.copy for part in parts], alone).tobytes()
    assert (np.abs(arrays - exact) <= error).all()
    assert abs(floats - exact[0]) <= error[0]


def test_the_tree_adds_neighbours_first():
    with Threads(1) as threads:
        text = tree_sum([lambda k=k: Added(str(k)) for k in range(5)], threads)
    assert text.name == "(((0+1)+(2+3))+4)"


@dataclass
class Added:
    name: str

    def __add__(self, other):
        return Added(f"({self.name}+{other.name})")


def test_every_row_is_in_one_block_and_the_blocks_do_not_depend_on_the_threads():
    problem, values = rows(1000), np.random.default_rng(0).standard_normal(1000)
    sums, blocks = [], []
    for n_threads in (1, 2, 3):
        with Threads(n_threads) as threads:
            engine = MemoryEngine(problem, threads)
            engine["values"] = values
            sums.append(engine.sum(total, "values"))
            blocks.append(engine.map(bounds))
    assert len(blocks[0]) == 16
    assert blocks[0] == blocks[1] == blocks[2]
    assert [row for block in blocks[0] for row in range(*block)] == list(range(1000))
    assert math.isclose(sums[0], math.fsum(values), rel_tol=1e-12, abs_tol=1e-12)
    assert sums[0] == sums[1] == sums[2]


def test_blocks_of_wide_data_have_entries_for_every_column():
    with Threads(1) as threads:
        wide = MemoryEngine(rows(64, n_columns=10_000_000), threads)
        assert len(wide.map(bounds)) == 1


def test_a_large_result_bounds_the_number_of_blocks():
    with Threads(2) as threads:
        engine = MemoryEngine(rows(1000), threads)
        assert engine.sum(lambda _: 1) == 16
        assert engine.sum(lambda _: 1, most=5) == 4


def double(block, name):
    block[name][:] *= 2.0


def test_a_task_writes_to_its_own_slice():
    with Threads(2) as threads:
        engine = MemoryEngine(rows(300), threads)
        engine["values"] = np.arange(300.0)
        engine.map(double, "values")
        np.testing.assert_array_equal(engine["values"], 2.0 * np.arange(300.0))


def test_a_subset_has_copies_of_its_rows_and_writes_back():
    with Threads(2) as threads:
        engine = MemoryEngine(rows(300), threads)
        engine["values"], engine["odd"] = np.arange(300.0), np.arange(300) % 2 == 1
        part = engine.subset("odd", "values")
        np.testing.assert_array_equal(part.index, np.arange(1, 300, 2))
        part.map(double, "values")
        np.testing.assert_array_equal(engine["values"], np.arange(300.0))
        engine.write_back(part, "odd", "values")
        expected = np.arange(300.0) * np.where(np.arange(300) % 2, 2.0, 1.0)
        np.testing.assert_array_equal(engine["values"], expected)
        # A subset of a subset is chosen among its own rows.
        part["late"] = part.index >= 200
        assert part.subset("late").index.tolist() == list(range(201, 300, 2))


def test_an_empty_subset_has_one_empty_block():
    with Threads(2) as threads:
        engine = MemoryEngine(rows(10), threads)
        engine["none"] = np.zeros(10, dtype=bool)
        engine["values"] = np.ones(10)
        assert engine.subset("none", "values").sum(total, "values") == 0.0


def test_an_error_in_a_task_reaches_the_caller():
    def refuse(block):
        if block.index[0] > 0:
            raise ValueError("not this block")

    for n_threads in (1, 2):
        with Threads(n_threads) as threads, pytest.raises(ValueError, match="not this block"):
            MemoryEngine(rows(300), threads).map(refuse)
