"""Hulls that meet are proven by integers in the file; weights below zero count as zero for kernels."""

import numpy as np
import pytest

import maxmargin as mm
from checker_cases import forge, verdicts, write_data
from real_data import load

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")

HEART = load("heart_scale")


@pytest.fixture
def saved(tmp_path):
    """The paths of a perceptron whose classes are not separable, and of its data."""
    X, y = HEART
    mm.save(mm.Perceptron().fit(X, y), tmp_path / "m", X, y)
    write_data(tmp_path / "d", X, y)
    return tmp_path / "m", tmp_path / "d"


def change_one(witness):
    witness[0][1] = f"{int(witness[0][1], 16) + 1:x}"


def change_sign(witness):
    for entry in witness:
        entry[1] = f"-{entry[1]}"


CHANGES_OF_HULLS = {
    "another integer": (change_one, "FALSE"),
    "all negative": (change_sign, "FALSE"),
    "one row less": (lambda witness: witness.pop(), "FALSE"),
    "another row": (lambda witness: witness[0].__setitem__(0, (witness[0][0] + 1) % 270), "FALSE"),
    "rows that there are not": (lambda witness: [entry.__setitem__(0, 10**6) for entry in witness], "NOT CHECKED"),
    "nothing": (lambda witness: witness.clear(), "NOT CHECKED"),
}


@pytest.mark.parametrize("change", CHANGES_OF_HULLS)
def test_hulls_meet_by_integers_alone(saved, change):
    path, data = saved
    assert verdicts(path, data)["hulls_meet"] == "TRUE"
    edit, answer = CHANGES_OF_HULLS[change]
    forge(path, lambda content, _: edit(content["data"]["hulls"][0]))
    assert verdicts(path, data)["hulls_meet"] == answer


def test_hulls_without_a_proof_are_not_checked(saved):
    path, data = saved
    forge(path, lambda content, _: content["data"].pop("hulls"))
    assert verdicts(path, data)["hulls_meet"] == "NOT CHECKED"
    assert mm.load(path).status_ == "not separable"


def test_weights_below_zero_count_as_zero_for_kernels(tmp_path):
    X, y = HEART
    weights = np.where(np.arange(270) % 7, 1.0, -2.0)
    write_data(tmp_path / "d", X, y)
    (tmp_path / "w").write_text("\n".join(map(repr, weights.tolist())))
    for model in (mm.SVC(), mm.OneClassSVM(), mm.NuSVR()):
        mm.save(model.fit(X, y, sample_weight=weights), tmp_path / "m", X, y, weights)
        found = verdicts(tmp_path / "m", tmp_path / "d", weights=tmp_path / "w")
        assert found["data"] == "TRUE"
        assert "FALSE" not in found.values()
