"""Models of every kind that the package saves are found TRUE; claims that go further are found FALSE."""

import dataclasses
import hashlib
import math
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm
import maxmargin_check
from checker_cases import forge, pack, unpack, verdicts, write_data, write_model
from command_runner import run as run_command
from real_data import load

HEART = load("heart_scale")
SONAR = load("sonar_scale")
THREE = HEART[0], np.digitize(HEART[0].toarray()[:, 4], [-0.5, -0.3])
# Small integers, three classes without structure.
HOSTILE = np.random.default_rng(0).integers(-2, 3, (40, 3)).astype(float), np.arange(40) % 3
WEIGHTS = np.where(np.arange(270) % 5, np.random.default_rng(0).random(270), 0.0)

MODELS = {
    "hinge": (mm.LinearSVC(), HEART),
    "squared hinge": (mm.LinearSVC(loss="squared_hinge", C=0.3), HEART),
    "penalised intercept": (mm.LinearSVC(penalize_intercept=True), HEART),
    "no intercept": (mm.LinearSVC(fit_intercept=False), HEART),
    "one against the rest": (mm.LinearSVC(), THREE),
    "Crammer-Singer": (mm.LinearSVC(multi_class="crammer_singer"), THREE),
    "Crammer-Singer without intercept": (mm.LinearSVC(multi_class="crammer_singer", fit_intercept=False), THREE),
    "hard margin": (mm.LinearSVC(C=math.inf), SONAR),
    "regression": (mm.LinearSVR(epsilon=0.1), HEART),
    "squared regression": (mm.LinearSVR(epsilon=0.1, loss="squared_epsilon_insensitive"), HEART),
    "RBF": (mm.SVC(), HEART),
    "RBF, three classes": (mm.SVC(), THREE),
    "polynomial": (mm.SVC(kernel="poly", degree=2, coef0=1.0), HEART),
    "linear kernel": (mm.SVC(kernel="linear"), HEART),
    "hard margin of a kernel": (mm.SVC(C=math.inf), SONAR),
    "kernel regression": (mm.SVR(), HEART),
    "hard kernel regression": (mm.SVR(C=math.inf, gamma=0.5), HEART),
    "logistic": (mm.LogisticRegression(C=1.0), HEART),
    "logistic, no penalty": (mm.LogisticRegression(C=float("inf")), HEART),
    "logistic, three classes": (mm.LogisticRegression(C=0.1, multi_class="ovr"), THREE),
    "ridge": (mm.Ridge(lam=0.3), HEART),
    "lasso": (mm.Lasso(lam=5.0), HEART),
    "least squares": (mm.BayesianRegression(), HEART),
    "lasso without intercept": (mm.Lasso(lam=5.0, fit_intercept=False), HEART),
    "positive lasso": (mm.Lasso(lam=5.0, positive=True), HEART),
    "positive ridge": (mm.Ridge(lam=0.3, positive=True), HEART),
    "elastic net": (mm.ElasticNet(alpha=0.05, l1_ratio=0.7), HEART),
    "positive elastic net": (mm.ElasticNet(alpha=0.05, positive=True), HEART),
    "squared hinge with an L1 penalty": (mm.LinearSVC(penalty="l1", loss="squared_hinge", C=0.02), HEART),
    "L1 penalty, penalised intercept": (
        mm.LinearSVC(penalty="l1", loss="squared_hinge", penalize_intercept=True, intercept_scaling=3.0),
        HEART,
    ),
    "logistic, penalised intercept": (mm.LogisticRegression(penalize_intercept=True, intercept_scaling=3.0), HEART),
    "perceptron": (mm.Perceptron(max_iter=20), HEART),
    "batch perceptron": (mm.Perceptron(max_iter=20, rule="batch", fit_intercept=False), HEART),
    "perceptron on unit rows": (mm.Perceptron(max_iter=20, normalize=True), HEART),
    "three perceptrons": (mm.Perceptron(max_iter=20, init="random"), THREE),
    "perceptron, not separable": (mm.Perceptron(), HEART),
    "three perceptrons, not separable": (mm.Perceptron(fit_intercept=False, normalize=True), HOSTILE),
    "perceptron with a penalty": (mm.Perceptron(max_iter=20, penalty="elasticnet"), HEART),
    "margin perceptron": (mm.MarginPerceptron(), SONAR),
    "kernel perceptron": (mm.KernelPerceptron(max_iter=20), HEART),
}
WEIGHTED = [
    "hinge",
    "squared hinge",
    "Crammer-Singer",
    "RBF",
    "regression",
    "logistic",
    "ridge",
    "lasso",
    "elastic net",
]
WEIGHTED += [
    "hard kernel regression",
    "squared hinge with an L1 penalty",
    "positive ridge",
    "logistic, penalised intercept",
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Fits, saves and writes a model once; returns the paths of a fresh copy of the model, and of its data."""
    folder, made = tmp_path_factory.mktemp("saved"), {}

    def paths(name):
        if name not in made:
            model, (X, y) = MODELS[name]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y)
            made[name] = folder / f"{len(made)}.model"
            mm.save(model, made[name], X, y)
            write_data(made[name].with_suffix(".svm"), X, y)
        copy = folder / "copy.model"
        copy.write_bytes(made[name].read_bytes())
        return copy, made[name].with_suffix(".svm")

    return paths


# What follows from other claims, and is left to ``maxmargin verify``: docs/checker.md.
DERIVED = {"outside", "on_margin", "inside", "misclassified", "within_epsilon", "on_boundary", "beyond_epsilon"}
DERIVED |= {"margin_", "class_weight_", "fit_status_", "status_", "objective_", "unused", "examples", "C_"}
DERIVED |= {"margin", "freed", "separating_coef_", "separating_intercept_"}
DERIVED |= {"s2_", "coef_factor_", "column_means_", "degrees_of_freedom_", "total_weight_"}


def decided(found):
    """The verdicts on the claims that are decided; all others are named as not checked."""
    for claims, verdict in found.items():
        if verdict == "NOT CHECKED":
            assert set(claims.split(", ")) <= DERIVED
    return {claim: verdict for claim, verdict in found.items() if verdict != "NOT CHECKED"}


@pytest.mark.parametrize("name", MODELS)
def test_saved_models_are_true(saved, name):
    found = decided(verdicts(*saved(name)))
    assert {"data"} < found.keys()
    assert set(found.values()) == {"TRUE"}


@pytest.mark.parametrize("name", WEIGHTED)
def test_weighted_models_are_true(tmp_path, name):
    model, (X, y) = MODELS[name]
    model = type(model)(**model.get_params())
    if hasattr(model, "class_weight"):
        model.set_params(class_weight="balanced")
    model.fit(X, y, sample_weight=WEIGHTS)
    mm.save(model, tmp_path / "m", X, y, WEIGHTS)
    write_data(tmp_path / "d", X, y)
    (tmp_path / "w").write_text("\n".join(map(repr, WEIGHTS.tolist())))
    found = decided(verdicts(tmp_path / "m", tmp_path / "d", weights=tmp_path / "w"))
    assert set(found.values()) == {"TRUE"}
    assert verdicts(tmp_path / "m", tmp_path / "d") == {"data": "FALSE"}


def claims_in(content):
    """The certificates in a file's content, each as the list of its fields."""
    pairs = content["attributes"]["certificate_"]["pairs"]
    of = dict(map(tuple, pairs)).get("of")
    return [claim["pairs"] for _, claim in of] if of else [pairs]


# Claims and the direction in which they say more.
FURTHER = {"primal": -1, "dual": 1, "lower": 1, "upper": -1, "radius": -1, "deficit": -1}


@pytest.mark.parametrize("name", MODELS)
def test_claims_that_go_further_are_false(saved, name):
    path, data = saved(name)
    changed = set()

    def claim_more(content, _):
        fields = claims_in(content)[0]
        inner = [entry for name, of in fields if name == "bracket" for entry in of["pairs"]]
        for key, value in [*fields, *inner]:
            if key in FURTHER and math.isfinite(number := float.fromhex(value["float"])) and number:
                value["float"] = (number + FURTHER[key] * abs(number) * 1e-6).hex()
                changed.add(key)

    forge(path, claim_more)
    found = {claim.rpartition(": ")[2]: verdict for claim, verdict in reversed(verdicts(path, data).items())}
    assert changed
    # Where the claim holds for hyperplanes up to a norm only, the duals prove more than is claimed. Where hulls meet,
    # ``upper`` is a rounding error.
    loose = {"logistic, no penalty": {"dual"}, "least squares": {"dual", "radius"}}.get(name, set())
    loose |= {"upper"} if "not separable" in name else set()
    assert {key: found[key] for key in changed - loose} == dict.fromkeys(changed - loose, "FALSE")


@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_of_a_prediction_is_bound(saved, name):
    """Coefficients, intercepts, duals and support vectors that were changed make a claim false."""
    for tensor in ("coef_", "intercept_", "_duals", "support_vectors_.data"):
        path, data = saved(name)
        present = []

        def change(_, arrays, tensor=tensor, present=present):
            if tensor in arrays and np.any(arrays[tensor]):
                present.append(tensor)
                arrays[tensor] *= -1

        forge(path, change)
        assert not present or "FALSE" in verdicts(path, data).values(), tensor


@pytest.mark.parametrize(
    ("name", "field", "factor"), [("perceptron", "bound", 1 - 1e-9), ("kernel perceptron", "gamma", 2.0)]
)
def test_mistake_bounds_beyond_the_theorem_are_false(saved, name, field, factor):
    path, data = saved(name)

    def claim_more(content, _):
        value = dict(map(tuple, claims_in(content)[0]))[field]
        value["float"] = (float.fromhex(value["float"]) * factor).hex()

    forge(path, claim_more)
    assert verdicts(path, data)["bound" if field == "bound" else "deficit"] == "FALSE"


BOXED = ["hinge", "penalised intercept", "no intercept", "one against the rest", "Crammer-Singer", "regression", "RBF"]
BOXED += ["RBF, three classes", "polynomial", "linear kernel", "kernel regression"]


@pytest.mark.parametrize("name", BOXED)
def test_a_dual_beyond_its_box_is_false(saved, name):
    path, data = saved(name)

    def leave_the_box(_, arrays):
        duals = arrays.get("_duals", arrays.get("dual_coef_"))
        # Crammer and Singer: the duals of other classes, which are not positive; that of the own class is not read.
        sizes = -duals if name == "Crammer-Singer" else np.abs(duals)
        duals.flat[np.argmax(sizes)] *= 1.0 + 1e-9

    forge(path, leave_the_box)
    answers = {verdict for claim, verdict in verdicts(path, data).items() if claim.endswith("dual")}
    assert "FALSE" in answers


POINTS = ["ridge", "lasso", "least squares", "logistic", "logistic, no penalty", "logistic, three classes"]


@pytest.mark.parametrize("name", POINTS)
def test_claims_rest_on_the_stored_dual_point(saved, name):
    path, data = saved(name)
    # Regressions take the best multiple of the point.
    forge(path, lambda _, arrays: arrays["_dual_point"].__imul__(0.5 if "logistic" in name else 0.0))
    assert "FALSE" in verdicts(path, data).values()


@pytest.mark.parametrize("name", ["ridge", "lasso", "logistic"])
def test_files_without_a_dual_point_are_not_checked(saved, name):
    path, data = saved(name)
    header, tensors, content = unpack(path.read_bytes())
    begin, end = header.pop("_dual_point")["data_offsets"]
    for entry in header.values():
        entry["data_offsets"] = [offset - (end - begin) * (offset >= end) for offset in entry["data_offsets"]]
    path.write_bytes(pack(header, tensors[:begin] + tensors[end:], content))
    found = verdicts(path, data)
    assert "FALSE" not in found.values()
    assert any("dual" in claim.split(", ") and verdict == "NOT CHECKED" for claim, verdict in found.items())


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("seed", range(8))
def test_duals_of_badly_scaled_columns_are_true(tmp_path, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4)) * 10.0 ** rng.integers(-8, 9, 4) + 10.0 ** rng.integers(0, 6, 4)
    y, lam = rng.standard_normal(30), 10.0 ** rng.integers(-6, 5)
    write_data(tmp_path / "d", X, y)
    for model in (mm.Ridge(lam=lam), mm.Lasso(lam=lam), mm.BayesianRegression()):
        mm.save(model.fit(X, y), tmp_path / "m", X, y)
        assert set(decided(verdicts(tmp_path / "m", tmp_path / "d")).values()) == {"TRUE"}


@pytest.mark.parametrize("early_stopping", [False, True])
def test_runs_without_an_update_count_their_examples(tmp_path, early_stopping):
    """A run that ends at its time limit has w = 0, and no margins."""
    X, y = THREE
    with pytest.warns(mm.LimitWarning):
        model = mm.Perceptron(max_time=1e-9, early_stopping=early_stopping).fit(X, y)
    mm.save(model, tmp_path / "m", X, y)
    write_data(tmp_path / "d", X, y)
    assert set(decided(verdicts(tmp_path / "m", tmp_path / "d")).values()) == {"TRUE"}


def change_kernel(content, _):
    dict(map(tuple, content["attributes"]["_kernel"]["pairs"]))["gamma"]["float"] = (0.7).hex()


def move_counts(_, arrays):
    arrays["_n_support"][:2] += [1, -1]


@pytest.mark.parametrize(("name", "change"), [("RBF", change_kernel), ("RBF, three classes", move_counts)])
def test_values_that_only_predictions_use_are_bound(saved, name, change):
    path, data = saved(name)
    forge(path, change)
    assert "FALSE" in verdicts(path, data).values()


CHANGES_OF_DATA = ["flipped label", "another order", "one unit in the last place", "no last row"]


@pytest.mark.parametrize("name", MODELS)
def test_other_data_are_refused(saved, name):
    path, data = saved(name)
    for change in CHANGES_OF_DATA:
        rows, y = sp.csr_array(MODELS[name][1][0]), MODELS[name][1][1].copy()
        if change == "flipped label":
            y[3] = y[y != y[3]][0]
        elif change == "another order":
            rows, y = rows[::-1], y[::-1]
        elif change == "no last row":
            rows, y = rows[:-1], y[:-1]
        else:
            rows = rows.copy()
            rows.data[7] = np.nextafter(rows.data[7], 9)
        other = data.with_suffix(".other")
        write_data(other, rows, y)
        assert verdicts(path, other) == {"data": "FALSE"}, change


def test_a_flipped_label_without_hashes_is_false(saved):
    path, data = saved("hinge")
    y = HEART[1].copy()
    y[3] = -y[3]
    write_data(data.with_suffix(".other"), HEART[0], y)
    forge(path, lambda content, _: content.__setitem__("data", None))
    assert "FALSE" in verdicts(path, data.with_suffix(".other")).values()


@pytest.mark.parametrize("name", [name for name, (model, _) in MODELS.items() if hasattr(model, "class_weight")])
def test_swapped_classes_are_refused(saved, name):
    path, data = saved(name)
    forge(path, lambda content, _: content["attributes"]["classes_"].reverse())
    try:
        found = verdicts(path, data)
    except maxmargin_check.Unreadable:
        return  # the certificates are then those of other classes
    assert found == {"data": "FALSE"}


def damage(file, how):
    header = int.from_bytes(file[:8], "little")
    text = file[8 : 8 + header].decode()
    if how == "truncated":
        return file[:-8]
    if how == "truncated header":
        return file[:20]
    if how == "trailing bytes":
        return file + b"\0" * 8
    if how == "flipped bit":
        return file[:-3] + bytes([file[-3] ^ 1]) + file[-2:]
    if how == "duplicate tensor":
        text = text[:-1].rstrip().removesuffix("}") + ',"coef_":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}}'
    if how == "duplicate key of the content":
        text = text.replace('\\"version\\"', '\\"version\\": 2, \\"version\\"', 1)
    return len(text.encode()).to_bytes(8, "little") + text.encode() + file[8 + header :]


HOW = [
    "truncated",
    "truncated header",
    "trailing bytes",
    "flipped bit",
    "duplicate tensor",
    "duplicate key of the content",
]


@pytest.mark.parametrize("how", HOW)
def test_damaged_files_are_refused(saved, how):
    path, data = saved("hinge")
    path.write_bytes(damage(path.read_bytes(), how))
    with pytest.raises(maxmargin_check.Unreadable):
        maxmargin_check.Check(path, data)


@pytest.mark.parametrize("how", ["duplicate tensor", "duplicate key of the content", "trailing bytes", "truncated"])
def test_damaged_files_with_a_true_checksum_are_refused(saved, how):
    path, data = saved("hinge")
    file = damage(path.read_bytes(), how)
    digits = unpack(path.read_bytes())[2]["sha256"].encode()
    empty = file.replace(digits, b"0" * 64, 1)
    path.write_bytes(empty.replace(b"0" * 64, hashlib.sha256(empty).hexdigest().encode(), 1))
    with pytest.raises(maxmargin_check.Unreadable) as error:
        maxmargin_check.Check(path, data)
    assert "checksum" not in str(error.value)


def polynomial(folder, dual, coef0):
    """A polynomial kernel machine on two points, and a claim on its dual."""
    certificate = {"kind": "ClassificationGap", "primal": 9.0, "dual": dual, "assumption": ""}
    kernel = {"name": "poly", "gamma": 1.0, "coef0": coef0, "degree": 2.0}
    attributes = {"n_features_in_": 1, "classes_": [-1, 1], "classes_.type": "int64", "certificate_": certificate}
    attributes["_kernel"] = kernel
    rows = np.array([[1.0], [-2.0]])
    arrays = {"support_": np.array([0, 1]), "support_vectors_": rows, "_duals": np.array([[0.5, -0.5]])}
    numbers = {"loss": "hinge", "C": 1.0, "kernel": kernel}
    write_model(folder / "m", "SVC", numbers, attributes, {**arrays, "intercept_": np.zeros(1)})
    write_data(folder / "d", rows, [1, -1])
    return verdicts(folder / "m", folder / "d")


def test_duals_of_indefinite_kernels_are_not_checked(tmp_path):
    assert polynomial(tmp_path, -3.0, 1.0)["dual"] == "TRUE"
    assert polynomial(tmp_path, 0.0, 1.0)["dual"] == "FALSE"
    found = polynomial(tmp_path, 0.0, -1.0)
    assert (found["primal"], found["dual"]) == ("TRUE", "NOT CHECKED")
    assert polynomial(tmp_path, -math.inf, -1.0)["dual"] == "TRUE"
    assert polynomial(tmp_path, 10.0, -1.0)["dual <= primal"] == "FALSE"


def test_arithmetic_errors_are_not_unreadable_files(saved):
    path, data = saved("hinge")

    def overflow(content, _):
        content["problem"]["C"] = {"float": (1e308).hex()}
        content["parameters"]["class_weight"] = "balanced"
        content["data"]["class_factors"] = [{"float": (1e308).hex()}] * 2

    forge(path, overflow)
    found = verdicts(path, data)
    assert any("primal" in claim.split(", ") and verdict == "NOT CHECKED" for claim, verdict in found.items())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_and_infinity_are_refused(saved, value):
    path, data = saved("hinge")
    forge(path, lambda _, arrays: arrays["coef_"].__setitem__((0, 0), value))
    with pytest.raises(maxmargin_check.Unreadable):
        maxmargin_check.Check(path, data)


def test_tables_are_read(tmp_path):
    import pandas

    X = pandas.DataFrame(HEART[0].toarray(), columns=[f"x{j}" for j in range(13)])
    model = mm.LinearSVC().fit(X, HEART[1])
    mm.save(model, tmp_path / "m", X, HEART[1])
    X.assign(label=HEART[1]).to_csv(tmp_path / "d.csv", index=False)
    assert set(decided(verdicts(tmp_path / "m", tmp_path / "d.csv")).values()) == {"TRUE"}


@pytest.mark.parametrize("options", [["color"], ["a", "--impute", "mean"], ["b", "--scale", "standard"]])
def test_prepared_columns_are_refused_in_a_sentence(tmp_path, options):
    column, *others = options
    cells = {"color": ["blue", "red", "green"], "a": ["1", "", "2"], "b": ["1", "3", "2"]}[column]
    rows = [f"{cells[i % 3]},{i},{i % 2}" for i in range(18)]
    (tmp_path / "d.csv").write_text("\n".join([f"{column},size,y", *rows]))
    command = ["train", str(tmp_path / "d.csv"), "--target", "y", "--output", str(tmp_path / "m"), *others]
    run_command(*command)
    with pytest.raises(ValueError, match="not prepared here"):
        maxmargin_check.Check(tmp_path / "m", tmp_path / "d.csv")


def test_every_model_that_a_test_saves_is_checked(tmp_path):
    """The fixture of tests/conftest.py: a false claim does not get as far as the file."""
    X, y = HEART[0].toarray()[:60], HEART[1][:60]
    for weights in (None, np.linspace(0.5, 2.0, 60)):
        model = mm.LinearSVC().fit(X, y, sample_weight=weights)
        mm.save(model, tmp_path / "m", X, y, weights)
        model.certificate_ = dataclasses.replace(model.certificate_, dual=model.certificate_.primal)
        with pytest.raises(AssertionError, match=r"finds false.*dual"):
            mm.save(model, tmp_path / "m", X, y, weights)


def test_the_checker_is_short():
    text = Path(maxmargin_check.__file__).read_text()
    code = text.replace(maxmargin_check.__doc__, "").splitlines()
    assert sum(bool(line.strip()) for line in code) < 400


def test_the_checker_needs_nothing_but_python():
    lines = Path(maxmargin_check.__file__).read_text().splitlines()
    modules = {line.split()[1].partition(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert modules <= sys.stdlib_module_names


def test_command_and_exit_codes(saved, tmp_path):
    path, data = saved("hinge")

    def run(*words):
        command = [sys.executable, "-I", maxmargin_check.__file__, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    answer = run(path, data)
    assert answer.returncode == 0
    assert "TRUE        primal: " in answer.stdout
    forge(path, lambda content, _: claims_in(content)[0][1][1].update(float=(1.0).hex()))
    answer = run(path, data)
    assert answer.returncode == 1
    assert "FALSE       primal: " in answer.stdout
    path.write_bytes(b"")
    answer = run(path, data)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ")
