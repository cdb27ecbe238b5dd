"""Model files that a forger made to be found true: every one is refused, FALSE, or its claims are named as not checked."""

import copy
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import maxmargin as mm
import maxmargin_check
from checker_cases import forge, pack, plain, unpack, verdicts, write_data, write_model
from command_runner import run as run_command
from command_runner import told
from maxmargin.cli.verify import exact_answers
from maxmargin.files.model import read_model_file
from maxmargin.files.proof_file import same_predictions, stripped
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
    "no intercept": (mm.LinearSVC(fit_intercept=False), X, Y),
    "perceptron without intercept": (mm.Perceptron(max_iter=5, fit_intercept=False), X, Y),
    "hard margin": (mm.LinearSVC(C=math.inf), X[:15], Y[:15]),
    "hard margin without intercept": (mm.LinearSVC(C=math.inf, fit_intercept=False), X[:8], Y[:8]),
    "kernel perceptron": (mm.KernelPerceptron(max_iter=5), X, Y),
    "class weights": (mm.LinearSVC(class_weight="balanced"), X, Y),
    "ridge": (mm.Ridge(), X, Y),
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


def intercept_of_two(_, arrays):
    arrays["intercept_"][:] = 2.0


def set_factors(*factors):
    """Other factors of the classes, or none."""
    return lambda content, _: content["data"].__setitem__("class_factors", plain(list(factors) or None))


def set_problem(**numbers):
    """Another problem."""
    return lambda content, _: content.__setitem__("problem", {key: plain(value) for key, value in numbers.items()})


def without_number(name):
    """A number of the problem is missing."""
    return lambda content, _: content["problem"].pop(name)


def of_class(name):
    """The same file, of another estimator."""
    return lambda content, _: content.__setitem__("class", name)


def set_attribute(name, value):
    """An attribute, new or in place of the old one."""
    return lambda content, _: content["attributes"].__setitem__(name, plain(value))


def set_classes(labels):
    """Other labels, and no hash of the codes that they give."""

    def change(content, _):
        content["attributes"]["classes_"], content["data"] = labels, None

    return change


def classes_as_a_number(content, arrays):
    """No labels, and a number of that name."""
    set_classes([])(content, arrays)
    set_number("classes_", 1.0)(content, arrays)


LINEAR = {"name": "linear"}
REFUSED = {
    "an intercept that there is not": ("no intercept", intercept_of_two),
    "an intercept of a perceptron without one": ("perceptron without intercept", intercept_of_two),
    "an intercept of a hard margin without one": ("hard margin without intercept", intercept_of_two),
    "factors without class weights": ("hinge", set_factors(1e-300, 1e-300)),
    "class weights without factors": ("class weights", set_factors()),
    "a kernel machine without a kernel": ("polynomial", set_problem(loss="hinge", C=1.0, intercept_penalty=0.0)),
    "a linear machine with a kernel": ("hinge", set_problem(loss="hinge", C=1.0, kernel=LINEAR)),
    "both a kernel and an intercept": ("hinge", set_number("kernel", LINEAR)),
    "no C": ("hinge", without_number("C")),
    "no word on the intercept": ("perceptron", without_number("intercept")),
    "a perceptron of a kernel without one": ("kernel perceptron", without_number("kernel")),
    "a penalised intercept of a hard margin": ("hard margin", set_number("intercept_penalty", 0.5)),
    "a regression with classes": ("ridge", set_classes([-1, 1])),
    "a classifier without classes": ("hinge", set_classes([])),
    "classes among the numbers of the problem": ("hinge", classes_as_a_number),
    "an attribute and a tensor of one name": ("hinge", set_attribute("intercept_", [0.0])),
    "an attribute beside the parts of a tensor": ("perceptron", set_attribute("mistakes_per_pass_", [1])),
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


def scale_up(_, arrays):
    arrays["proof.scales"] *= 1e6


def no_mistakes(content, arrays):
    set_claim("mistakes", 0)(content, arrays)
    set_attribute("n_updates_", [0])(content, arrays)


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
    "weights below zero": ("class weights", negative_factors, {"primal", "dual"}),
    "another class": ("hinge", of_class("LogisticRegression"), {"primal", "dual"}),
    "another regression": ("ridge", of_class("LinearSVR"), {"primal", "dual"}),
    "no radius": ("least squares", set_claim("radius", 0.0), {"dual"}),
    "a small radius": ("least squares", set_claim("radius", 1.0), {"dual"}),
    "no reach": ("logistic", set_claim("reach", 0.0), {"dual"}),
    "a small reach": ("logistic", set_claim("reach", 1.0), {"dual"}),
    "large scales of least squares": ("least squares", scale_up, {"dual"}),
    "large scales": ("logistic", scale_up, {"dual"}),
    "no mistakes": ("perceptron", no_mistakes, {"mistakes"}),
    "no mistakes of a kernel perceptron": ("kernel perceptron", no_mistakes, {"mistakes"}),
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


def unpenalised(folder, primal, dual, **region):
    """A model without a penalty and with w = 0, for which a tiny region would make every objective the least one."""
    n = len(LINE)
    attributes = {"n_features_in_": 1, "status_": "solved", "objective_": [primal]}
    arrays = {"coef_": np.zeros((1, 1)), "proof.scales": np.ones(1)}
    if "reach" in region:
        certificate = {"kind": "LogisticGap", "margin": 0.0, "freed": 0, **region}
        attributes |= {"classes_": [-1, 1], "classes_.type": "int64"}
        arrays |= {"intercept_": np.zeros(1), "_dual_point": np.full((1, n), 0.5)}
        name, problem, y = "LogisticRegression", {"loss": "logistic", "C": math.inf}, [-1, 1, 1, -1]
    else:
        certificate = {"kind": "RidgeGap", **region}
        name, problem, y = "Ridge", {"loss": "squared_error", "lam": 0.0}, LINE[:, 0]
        attributes |= {"intercept_": [0.0]}
        arrays |= {"coef_": np.zeros(1), "_dual_point": LINE[:, 0]}
    attributes["certificate_"] = {**certificate, "primal": primal, "dual": dual}
    write_model(folder / "m", name, {**problem, "intercept": False}, attributes, arrays, {"tol": 1e-6})
    write_data(folder / "d", LINE, y)
    return verdicts(folder / "m", folder / "d")


LINE = np.array([[-2.0], [-1.0], [1.0], [2.0]])


@pytest.mark.parametrize("region", [{"reach": 0.0}, {"reach": 1e-9}, {"radius": 0.0}, {"radius": 3.0}])
def test_bounds_around_the_model_alone_prove_nothing(tmp_path, region):
    """The review's forgery: around w = 0 no w is better, so that primal = dual and the status was TRUE."""
    value = 4.0 * math.log(2.0) if "reach" in region else 10.0
    found = unpenalised(tmp_path, value * (1.0 + 1e-12), value * (1.0 - 1e-12), **region)
    assert (found["primal"], found["dual"]) == ("TRUE", "FALSE")
    assert unpenalised(tmp_path, value * (1.0 + 1e-12), 0.0, **region)["dual"] == "TRUE"


def test_a_large_loss_without_a_dual_is_not_solved(tmp_path):
    """For C = inf no gap is negligible beside C."""
    found = unpenalised(tmp_path, 3.0, 0.0, reach=1.0)
    assert (found["primal"], found["dual"], found["status_"]) == ("TRUE", "TRUE", "FALSE")


def test_a_file_without_a_certificate_claims_nothing(tmp_path):
    """A time limit may leave no time for it; the joint machine has one certificate of several tasks otherwise."""
    model = mm.LinearSVC(multi_class="crammer_singer").fit(X, THREE)
    mm.save(model, tmp_path / "m", X, THREE)
    write_data(tmp_path / "d", X, THREE)

    def remove(content, _):
        for name in ("certificate_", "objective_", "status_"):
            content["attributes"].pop(name)

    forge(tmp_path / "m", remove)
    found = verdicts(tmp_path / "m", tmp_path / "d")
    assert found["data"] == "TRUE"
    assert not {"primal", "dual", "status_"} & found.keys()


def test_parts_of_a_prediction_twice_are_refused(made, tmp_path):
    """Dense support vectors and sparse ones: a reader would have to choose."""
    file, data = made("polynomial")
    header, tensors, content = unpack(file)
    header["support_vectors_.data"] = {
        "dtype": "F64",
        "shape": [1],
        "data_offsets": [len(tensors), len(tensors) + 8],
    }
    (tmp_path / "m").write_bytes(pack(header, tensors + bytes(8), content))
    with pytest.raises(maxmargin_check.Unreadable, match="twice"):
        maxmargin_check.Check(tmp_path / "m", data)


def test_what_makes_probabilities_is_named(made, tmp_path):
    """No claim is about calibration and preparation, which predictions use."""
    file, data = made("hinge")
    (tmp_path / "m").write_bytes(file)

    def add(content, _):
        content["calibration"] = plain({"method": "sigmoid", "curves": [[1.0, 0.0]]})
        content["preparation"] = plain({"columns": None, "target": None, "scaling": None})

    forge(tmp_path / "m", add)
    found = verdicts(tmp_path / "m", data)
    named = {claim for names, verdict in found.items() if verdict == "NOT CHECKED" for claim in names.split(", ")}
    assert {"calibration", "preparation"} <= named


def test_the_problem_is_printed_with_its_factors(made, tmp_path):
    file, data = made("class weights")
    (tmp_path / "m").write_bytes(file)
    words = [sys.executable, "-I", maxmargin_check.__file__, str(tmp_path / "m"), str(data)]
    answer = subprocess.run(words, capture_output=True, text=True)
    assert answer.returncode == 0
    factors = set(unpack(file)[2]["data"]["class_factors"][0].values())
    assert answer.stdout.startswith("PROBLEM     LinearSVC: {")
    assert str(float.fromhex(factors.pop())) in answer.stdout.splitlines()[0]


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


# The package reads of a linear kernel its name alone.
ACCEPTED = {"a linear kernel with a factor"}


@pytest.mark.parametrize("name", sorted({**REFUSED, **NOT_TRUE}.keys() - ACCEPTED))
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


def curves_upside_down(content, _):
    """Probabilities of the other class."""
    for curve in dict(map(tuple, content["calibration"]["pairs"]))["curves"]:
        if isinstance(curve[1], list):
            curve[1] = [plain(1.0 - float.fromhex(value["float"])) for value in reversed(curve[1])]
        else:
            curve[0] = plain(-float.fromhex(curve[0]["float"]))


def slightly_other_curves(content, _):
    """A change of the first curve that moves probabilities by some per cent."""
    curve = dict(map(tuple, content["calibration"]["pairs"]))["curves"][0]
    part = curve[1] if isinstance(curve[1], list) else curve
    part[:] = [plain(0.9 * float.fromhex(value["float"])) for value in part]


CALIBRATED = {
    "sigmoid": lambda y: mm.calibrate(mm.LinearSVC().fit(X, y), X, y),
    "isotonic": lambda y: mm.calibrate(mm.SVC().fit(X, y), X, y, method="isotonic"),
    "seeded": lambda y: mm.calibrate(mm.Perceptron(max_iter=9).fit(X, y), X, y, cv=3, random_state=None),
    "in the fit": lambda y: mm.SVC(probability=True, class_weight="balanced").fit(X, y),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("y", [Y, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("name", CALIBRATED)
def test_probabilities_are_those_of_the_data(tmp_path, name, y):
    """Curves of another sign passed, with the checksum that belongs to them, though predict_proba was upside down."""
    path, model = tmp_path / "m", CALIBRATED[name](y)
    mm.save(model, path, X, y)
    for rows in (X, sp.csr_array(X)):
        verdict = verify_file(read_model_file(path), rows, y)
        assert verdict.true
        assert verdict.calibration.startswith("fitted again")
    sound = path.read_bytes()
    for change in (curves_upside_down, slightly_other_curves):
        path.write_bytes(sound)
        forge(path, change)
        assert "probabilities" in verify_file(read_model_file(path), X, y).why


def test_probabilities_of_a_gram_matrix_and_of_too_few_rows(tmp_path):
    gram, path = X @ X.T, tmp_path / "m"
    mm.save(mm.calibrate(mm.SVC(kernel="precomputed").fit(gram, Y), gram, Y), path, gram, Y)
    assert verify_file(read_model_file(path), gram, Y).calibration.startswith("fitted again")
    forge(path, curves_upside_down)
    assert "probabilities differ" in verify_file(read_model_file(path), gram, Y).why
    few = [*np.flatnonzero(Y == 1)[:5], np.flatnonzero(Y == -1)[0]]
    mm.save(mm.LinearSVC().fit(X[few], Y[few]), path, X[few], Y[few])
    folds = {"cv": 5, "seed": 0, "weighted": False, "by_fit": False}
    calibration = {"method": "sigmoid", "curves": [[1.0, 0.0]], "folds": folds}
    forge(path, lambda content, _: content.__setitem__("calibration", plain(calibration)))
    assert "no such curves" in verify_file(read_model_file(path), X[few], Y[few]).why


def test_curves_that_a_time_limit_cut_are_not_checked(tmp_path):
    model = mm.calibrate(mm.LinearSVC(max_time=1e-9).fit(X, Y), X, Y)
    mm.save(model, tmp_path / "m", X, Y)
    verdict = verify_file(read_model_file(tmp_path / "m"), X, Y)
    assert verdict.true
    assert verdict.calibration.startswith("not checked")


TABLE = ["size,city,when,days,y"] + [
    f"{['1.5', '', '4'][k % 3]},{['a', 'b', 'c', ''][k % 4]},2024-0{1 + k % 9}-11,7,{'pq'[k * k % 5 > 1]}"
    for k in range(40)
]


def change_column(name, field, value):
    """A change of what a file says of a column of a table."""

    def change(content, _):
        columns = dict(map(tuple, content["preparation"]["pairs"]))["columns"]
        column = next(entry["pairs"] for entry in columns if ["name", name] in entry["pairs"])
        next(pair for pair in column if pair[0] == field)[1] = plain(value)

    return change


def another_width(content, _):
    """A column that is divided by another number."""
    scaling = dict(map(tuple, content["preparation"]["pairs"]))["scaling"]["pairs"]
    dict(map(tuple, scaling))["width"][-1] = plain(1e-3)


PREPARED = {
    "a fill of a column without missing values": change_column("days", "fill", 1e6),
    "another fill": change_column("size", "fill", 1e6),
    "another category for the missing ones": change_column("city", "fill", "c"),
    "other categories": change_column("city", "values", ["b", "a", "c"]),
    "other missing values": change_column("size", "n_missing", 1),
    "another width": another_width,
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A model of a table with all that can be prepared, and the table."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "d.csv").write_text("\n".join(TABLE) + "\n")
    words = ["--target", "y", "--impute", "median", "--scale", "maxabs", "--output", folder / "m"]
    run_command("train", folder / "d.csv", *words)
    return folder / "m", folder / "d.csv"


def test_a_preparation_is_that_of_the_data(prepared):
    answer = told(*("verify", *prepared))
    assert answer["true"] is True
    assert answer["preparation"] == "categories, fills and scaling are those of the data"


@pytest.mark.parametrize("name", PREPARED)
def test_forged_preparations_are_refused(prepared, tmp_path, name):
    """Also those that leave the prepared rows of the fit, and so their hashes, as they were."""
    path, data = tmp_path / "m", prepared[1]
    path.write_bytes(prepared[0].read_bytes())
    forge(path, PREPARED[name])
    run_command("verify", path, data, code=1)


@pytest.mark.parametrize(("readable", "answer"), [(True, "FALSE"), (False, "NOT CHECKED")])
def test_a_file_that_contradicts_itself_is_not_verified(made, tmp_path, monkeypatch, readable, answer):
    """What the checker refuses is false, unless it is the data that it cannot read."""
    file, data = made("hinge")
    (tmp_path / "m").write_bytes(file)

    def refuse(*_, **__):
        raise ValueError("oh no")

    monkeypatch.setattr("maxmargin_check.Check", refuse)
    if not readable:
        monkeypatch.setattr("maxmargin_check.read_data", refuse)
    found = run_command("verify", tmp_path / "m", data, code=1 if readable else 0)
    assert "oh no" in found.stdout
    assert answer in exact_answers(tmp_path / "m", str(data), None, None, False)[0]


def other_gamma(content, _):
    """Another kernel everywhere, so that the file does not contradict itself."""
    for place in (content["problem"]["kernel"], content["attributes"]["_kernel"]):
        dict(map(tuple, place["pairs"]))["gamma"].update(plain(7.0))


def other_votes(_, arrays):
    arrays["_vote_order"][:] = arrays["_vote_order"][::-1].copy()


@pytest.mark.parametrize("change", [curves_upside_down, other_gamma, other_votes])
def test_a_stripped_model_predicts_as_the_one_that_is_proven(tmp_path, change):
    """What is verified is the proof beside it: all that predicts is the same in both."""
    model = mm.calibrate(mm.SVC().fit(X, THREE), X, THREE)
    lean = stripped(model)
    lean._vote_order = np.arange(3, dtype=np.int32)
    model._vote_order = np.arange(3, dtype=np.int32)
    mm.save(lean, tmp_path / "m")
    assert same_predictions(mm.load(tmp_path / "m"), model)
    forge(tmp_path / "m", change)
    assert not same_predictions(mm.load(tmp_path / "m"), model)


def test_names_of_columns_that_the_data_do_not_have_are_not_checked(tmp_path):
    """Names in another order change what is predicted for tables, and no row of svmlight text shows it."""
    path, rows = tmp_path / "m", pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    write_data(tmp_path / "d.svm", X, Y)
    rows.assign(y=Y).to_csv(tmp_path / "d.csv", index=False)
    mm.save(mm.LinearSVC().fit(rows, Y), path, rows, Y)
    assert "column names" not in undecided(path, tmp_path / "d.csv")

    def turn(content, _):
        content["attributes"]["feature_names_in_"].reverse()

    forge(path, turn)
    assert verdicts(path, tmp_path / "d.csv")["data"] == "FALSE"
    assert "column names" in undecided(path, tmp_path / "d.svm")
    assert told("verify", path, tmp_path / "d.svm")["columns"].startswith("not checked")


def test_another_rule_for_votes_is_named(made, tmp_path):
    file, data = made("pairs")
    path = tmp_path / "m"
    path.write_bytes(file)
    assert "break_ties" not in undecided(path, data)
    before = mm.load(path).predict(X)

    def break_ties(content, _):
        content["parameters"]["break_ties"] = True

    forge(path, break_ties)
    assert not np.array_equal(before, mm.load(path).predict(X))
    assert "break_ties" in undecided(path, data)
    assert "break_ties=True" in told("verify", path, data)["ties_of_votes"]


def undecided(model, data):
    """The names that the checker calls NOT CHECKED."""
    return {
        x for names, verdict in verdicts(model, data).items() if verdict == "NOT CHECKED" for x in names.split(", ")
    }
