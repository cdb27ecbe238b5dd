"""Model files that a forger made to be found true: every one is refused, FALSE, or its claims are named as not checked."""

import copy
import math
import subprocess
import sys

import numpy as np
import pytest

import maxmargin as mm
import maxmargin_check
from checker_cases import forge, pack, plain, unpack, verdicts, write_data, write_model
from maxmargin.files.model import read_model_file
from maxmargin.files.verification import verify_file
from real_data import load

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")

X, Y = load("heart_scale")
X = X.toarray()
THREE = np.digitize(X[:, 4], [-0.5, -0.3])
FAR = X + 1000.0
MODELS = {
    "hinge": (mm.LinearSVC(), X, Y),
    "three classes": (mm.LinearSVC(), X, THREE),
    "pairs": (mm.SVC(), X, THREE),
    "polynomial": (mm.SVC(kernel="poly", degree=2, coef0=1.0), X, Y),
    "perceptron": (mm.Perceptron(max_iter=5), FAR, Y),
    "least squares": (mm.BayesianRegression(), X, Y),
    "logistic": (mm.LogisticRegression(C=math.inf), X, Y),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The bytes of a model file, by its name, and the path of its data."""
    folder, files = tmp_path_factory.mktemp("made"), {}

    def file(name):
        if name not in files:
            model, rows, labels = MODELS[name]
            mm.save(model.fit(rows, labels), folder / "m", rows, labels)
            write_data(folder / f"{len(files)}.svm", rows, labels)
            files[name] = (folder / "m").read_bytes(), folder / f"{len(files)}.svm"
        return files[name]

    return file


def claim_of(content):
    """The fields of the only certificate."""
    return content["attributes"]["certificate_"]["pairs"]


def set_number(name, value):
    """A change of one number of the problem."""
    return lambda content, _: content["problem"].__setitem__(name, plain(value))


def set_claim(name, value):
    """A change of one field of the only certificate."""

    def change(content, _):
        fields = claim_of(content)
        fields[:] = [[key, old] for key, old in fields if key != name] + [[name, plain(value)]]

    return change


def set_kernel(**numbers):
    """Another kernel, in the problem and in the attributes."""

    def change(content, _):
        content["problem"]["kernel"] = plain(numbers)
        content["attributes"]["_kernel"] = plain(numbers)

    return change


def change_of_certificates(edit):
    """A change of the list of certificates of the classes."""

    def change(content, _):
        edit(dict(map(tuple, claim_of(content)))["of"])

    return change


def swap_labels(certificates):
    certificates[0][0], certificates[1][0] = certificates[1][0], certificates[0][0]


def twice_the_same_row(_, arrays):
    arrays["support_"][0] = arrays["support_"][1]


def rows_from_the_end(_, arrays):
    arrays["support_"][-1] -= len(X)


def label_twice(content, _):
    content["attributes"]["classes_"] = [1, 1]


def negative_factors(content, _):
    content["data"]["class_factors"] = plain([-1.0, -1.0])


REFUSED = {
    "a penalty that the loss has not": ("hinge", set_number("lam", 1e-3)),
    "a negative C": ("hinge", set_number("C", -1.0)),
    "C is nan": ("hinge", set_number("C", math.nan)),
    "intercept penalty is nan": ("hinge", set_number("intercept_penalty", math.nan)),
    "a negative intercept penalty": ("hinge", set_number("intercept_penalty", -1.0)),
    "a number without a meaning": ("hinge", set_number("offset", 3.0)),
    "one class twice": ("hinge", label_twice),
    "a certificate less": ("three classes", change_of_certificates(lambda of: of.pop())),
    "a certificate twice": ("three classes", change_of_certificates(lambda of: of.append(copy.deepcopy(of[0])))),
    "labels of certificates swapped": ("three classes", change_of_certificates(swap_labels)),
    "pairs swapped": ("pairs", change_of_certificates(swap_labels)),
    "a support vector twice": ("pairs", twice_the_same_row),
    "rows counted from the end": ("polynomial", rows_from_the_end),
    "a bracket of an earlier format": ("perceptron", set_number("lam", 1.0)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_contradict_themselves_are_refused(made, tmp_path, name):
    model, change = REFUSED[name]
    file, data = made(model)
    path = tmp_path / "m"
    path.write_bytes(file)
    forge(path, change)
    with pytest.raises(maxmargin_check.Unreadable):
        maxmargin_check.Check(path, data)


NOT_TRUE = {
    "an unknown kernel": ("polynomial", set_kernel(name="laplace", gamma=1.0), {"primal", "dual"}),
    "a linear kernel with a factor": ("polynomial", set_kernel(name="linear", gamma=2.0), {"primal", "dual"}),
    "half a degree": ("polynomial", set_kernel(name="poly", gamma=1.0, coef0=1.0, degree=2.5), {"primal", "dual"}),
    "a negative degree": ("polynomial", set_kernel(name="poly", gamma=1.0, coef0=1.0, degree=-2), {"primal", "dual"}),
    "a degree that takes years": (
        "polynomial",
        set_kernel(name="poly", gamma=1.0, coef0=1.0, degree=10**9),
        {"primal", "dual"},
    ),
    "a negative gamma": ("polynomial", set_kernel(name="rbf", gamma=-1.0), {"primal", "dual"}),
    "constants without a bound": ("logistic", set_number("intercept_scaling", 3.0), {"dual"}),
    "weights below zero": ("hinge", negative_factors, {"primal", "dual"}),
    "a negative radius": ("least squares", set_claim("radius", -1e300), {"dual"}),
    "a negative reach": ("logistic", set_claim("reach", -1e300), {"dual"}),
    "a claim without a meaning": ("hinge", set_claim("accuracy", 1.0), {"accuracy"}),
}


@pytest.mark.parametrize("name", NOT_TRUE)
def test_false_claims_are_not_true(made, tmp_path, name):
    model, change, claims = NOT_TRUE[name]
    file, data = made(model)
    path = tmp_path / "m"
    path.write_bytes(file)
    forge(path, change)
    if name == "a negative radius":
        forge(path, set_claim("dual", 1e300))
        forge(path, set_claim("primal", 1e301))
    found = {}
    for claim, verdict in verdicts(path, data).items():
        found |= dict.fromkeys(claim.split(", "), verdict)
    assert claims <= found.keys()
    assert "TRUE" not in {found[claim] for claim in claims}


def test_a_centre_does_not_shrink_the_radius_of_a_perceptron(made, tmp_path):
    """Hyperplanes through the origin do not move with a centre: a radius about it would prove too small a mistake bound."""
    file, data = made("perceptron")
    header, tensors, content = unpack(file)
    centre = FAR.mean(axis=0)
    header["proof.centre"] = {
        "dtype": "F64",
        "shape": [centre.size],
        "data_offsets": [len(tensors), len(tensors) + centre.nbytes],
    }
    radius = 1.01 * float(np.linalg.norm(FAR - centre, axis=1).max())
    fields = claim_of(content)
    for pairs in (fields, dict(map(tuple, fields))["bracket"]["pairs"]):
        pairs[:] = [[key, plain(radius) if key in ("radius", "upper") else value] for key, value in pairs]
    (tmp_path / "m").write_bytes(pack(header, tensors + centre.tobytes(), content))
    found = verdicts(tmp_path / "m", data)
    assert found["radius"] == "FALSE"


def test_duals_that_do_not_predict_prove_nothing(tmp_path):
    """A KernelPerceptron predicts with ``dual_coef_``; a tensor ``_duals`` of another one does not count."""
    model = mm.KernelPerceptron(max_iter=5).fit(X, Y)
    mm.save(model, tmp_path / "m", X, Y)
    write_data(tmp_path / "d", X, Y)
    header, tensors, content = unpack((tmp_path / "m").read_bytes())
    begin, end = header["dual_coef_"]["data_offsets"]
    header["_duals"] = {**header["dual_coef_"], "data_offsets": [len(tensors), len(tensors) + end - begin]}
    (tmp_path / "m").write_bytes(pack(header, tensors + tensors[begin:end], content))
    assert "FALSE" not in verdicts(tmp_path / "m", tmp_path / "d").values()
    forge(tmp_path / "m", lambda _, arrays: arrays["dual_coef_"].__imul__(-1))
    assert "FALSE" in verdicts(tmp_path / "m", tmp_path / "d").values()


def test_undecided_claims_are_named(made, tmp_path):
    file, data = made("hinge")
    (tmp_path / "m").write_bytes(file)
    forge(tmp_path / "m", lambda content, _: content["attributes"].__setitem__("accuracy_", plain(1.0)))
    forge(tmp_path / "m", lambda content, _: content["attributes"]["certificate_"].__setitem__("pairs", []))
    named = {
        claim
        for name, verdict in verdicts(tmp_path / "m", data).items()
        if verdict == "NOT CHECKED"
        for claim in name.split(", ")
    }
    assert {"accuracy_", "margin_", "objective_", "status_"} <= named


def test_control_characters_of_a_file_are_not_printed(made, tmp_path):
    """A name with line ends cannot print a verdict."""
    file, data = made("hinge")
    (tmp_path / "m").write_bytes(file)
    forge(tmp_path / "m", set_claim("x: 1\nTRUE        everything: \x1b[2J", 1.0))
    words = [sys.executable, "-I", maxmargin_check.__file__, str(tmp_path / "m"), str(data)]
    answer = subprocess.run(words, capture_output=True, text=True)
    assert answer.returncode == 0
    assert all(line[:12].strip() in ("PROBLEM", "TRUE", "NOT CHECKED") for line in answer.stdout.splitlines())
    assert not any(line.startswith("TRUE        everything") for line in answer.stdout.splitlines())
    assert "\x1b" not in answer.stdout


@pytest.mark.parametrize("text", ["a,b,label\n1,2,1\n3,4,0\n", "a,label\n1,2,1\n3,4,0\n", "a,label\n1,\n3,0\n"])
def test_tables_have_the_columns_of_the_model(tmp_path, text):
    """A model without names of columns, surplus fields, missing fields."""
    names = {} if "b" in text else {"feature_names_in_": ["a"]}
    attributes = {"n_features_in_": 1, "classes_": [0, 1], "classes_.type": "int64", **names}
    certificate = {"kind": "ClassificationGap", "primal": 2.0, "dual": -math.inf}
    arrays = {"coef_": np.zeros((1, 1)), "intercept_": np.zeros(1), "dual_coef_": np.zeros((1, 2))}
    problem = {"loss": "hinge", "C": 1.0, "intercept_penalty": 0.0}
    write_model(tmp_path / "m", "LinearSVC", problem, {**attributes, "certificate_": certificate}, arrays)
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(maxmargin_check.Unreadable):
        maxmargin_check.Check(tmp_path / "m", tmp_path / "d.csv", target="label")


def test_coefficients_beyond_the_columns_are_refused(tmp_path):
    """The next coefficient would stand in the place of the intercept."""
    certificate = {"kind": "ClassificationGap", "primal": 2.0, "dual": -math.inf}
    attributes = {"n_features_in_": 1, "classes_": [-1, 1], "classes_.type": "int64", "certificate_": certificate}
    arrays = {"coef_": np.array([[0.0, 5.0]]), "intercept_": np.zeros(1), "dual_coef_": np.zeros((1, 2))}
    write_model(tmp_path / "m", "LinearSVC", {"loss": "hinge", "C": 1.0, "intercept_penalty": 0.0}, attributes, arrays)
    write_data(tmp_path / "d", np.array([[1.0], [2.0]]), [-1, 1])
    with pytest.raises(maxmargin_check.Unreadable):
        maxmargin_check.Check(tmp_path / "m", tmp_path / "d")


@pytest.mark.parametrize("name", sorted({**REFUSED, **NOT_TRUE}.keys() - {"a linear kernel with a factor"}))
def test_verify_refuses_forgeries(made, tmp_path, name):
    """The package itself refuses what the independent checker does not call true."""
    model, change = {**REFUSED, **NOT_TRUE}[name][:2]
    file, _ = made(model)
    path = tmp_path / "m"
    path.write_bytes(file)
    forge(path, change)
    _, rows, labels = MODELS[model]
    try:
        verdict = verify_file(read_model_file(path), rows, labels)
    except ValueError:
        return
    assert not verdict.true
