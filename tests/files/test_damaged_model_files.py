"""Model files that were cut off, flipped, edited or forged."""

import ast
import contextlib
import json
import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    CertificateError,
    KernelPerceptron,
    LinearSVC,
    LinearSVR,
    MarginPerceptron,
    ModelFileError,
    Perceptron,
    certify,
    load,
    save,
)
from model_file_cases import CODES, VALUES, WORDS, X
from model_forgery import content_of, with_checksum, write_content

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files of all sorts of models, with the data that they speak of."""
    folder = tmp_path_factory.mktemp("models")
    models = [
        (LinearSVC(), X[::3], WORDS[CODES[::3]]),
        (SVC(), sp.csr_array(X[20:80]), CODES[20:80]),
        (SVC(), X, CODES),
        (Perceptron(average=True, max_iter=4), X, CODES),
        (KernelPerceptron(max_iter=4), X[20:80], CODES[20:80]),
        (MarginPerceptron(max_iter=10), X, CODES),
        (LinearSVR(), X, VALUES),
        (SVR(), X[:50], VALUES[:50]),
    ]
    files = []
    for number, (model, data, labels) in enumerate(models):
        path = folder / f"{number}.safetensors"
        save(model.fit(data, labels), path)
        files.append((path, data, labels))
    return files


def test_files_that_were_cut_off(saved, tmp_path):
    cut = tmp_path / "cut"
    for path, _, _ in saved:
        data = path.read_bytes()
        for tenth in range(10):
            cut.write_bytes(data[: len(data) * tenth // 10])
            with pytest.raises(ModelFileError, match="cut"):
                load(cut)
        cut.write_bytes(data + b"\0")
        with pytest.raises(ModelFileError):
            load(cut)
    with pytest.raises(OSError, match="directory"):
        load(tmp_path)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choice=st.data())
def test_flipped_bytes_are_refused_or_harmless(saved, tmp_path, choice):
    """Where the file still loads, the model works, and its certificate holds or is refused."""
    path, data, labels = choice.draw(st.sampled_from(saved))
    content = bytearray(path.read_bytes())
    n_header = 8 + struct.unpack("<Q", content[:8])[0]
    places = st.integers(0, n_header - 1) | st.integers(n_header, len(content) - 1)
    for place in choice.draw(st.lists(places, min_size=1, max_size=3)):
        content[place] = choice.draw(st.integers(0, 255))
    flipped = tmp_path / "flipped"
    flipped.write_bytes(content)
    if bytes(content) != path.read_bytes():
        with pytest.raises(ModelFileError):
            load(flipped)
    # A forger computes the checksum anew.
    flipped.write_bytes(with_checksum(bytes(content), content_of(path)[1]["sha256"]))
    try:
        model = load(flipped)
    except ModelFileError:
        return
    # Errors by which the model says that the data are of other classes or columns, and CertificateError.
    with np.errstate(all="ignore"), contextlib.suppress(ValueError):
        assert len(model.predict(data)) == data.shape[0]
        proof = certify(model, data, labels)
        getattr(model, "certificate_", proof).check(proof)


def edits():
    """Changes of a LinearSVC's content, with what is said about them."""

    def attribute(name, value):
        return lambda _tensors, content: content["attributes"].__setitem__(name, value)

    def entry(name, value):
        return lambda _tensors, content: content.__setitem__(name, value)

    def parameter(name, value):
        return lambda _tensors, content: content["parameters"].__setitem__(name, value)

    def tensor(name, change):
        return lambda tensors, _content: tensors.__setitem__(name, change(tensors[name]))

    def place(value):
        def change(array):
            array = array.copy()
            array.flat[1] = value
            return array

        return change

    return {
        "another class": (entry("class", "SVR"), "SVR has no parameter"),
        "no class of ours": (entry("class", "os.system"), "there is no estimator"),
        "a class that is no name": (entry("class", ["SVC"]), "there is no estimator"),
        "an older version": (entry("version", 1), "reads version 2: train the model anew"),
        "a later version": (entry("version", 3), "reads version 2"),
        "a boolean version": (entry("version", True), "reads version 2"),
        "another problem": (
            lambda _, content: content["problem"].__setitem__("C", {"float": (9.0).hex()}),
            "problem is not that of its parameters",
        ),
        "data that are none": (entry("data", [1]), "its data are not an object"),
        "data of other entries": (entry("data", {"rows": 1}), "data have other entries"),
        "another format": (entry("format", "pickle"), "format is 'pickle'"),
        "an unknown entry": (entry("code", "print()"), "has the entries"),
        "an unknown attribute": (attribute("predict", 1), "no attribute predict"),
        "an unknown tensor": (lambda tensors, _: tensors.update(spare=np.zeros(2)), "no attribute spare"),
        "an unknown parameter": (parameter("colour", 1), "no parameter colour"),
        "a parameter out of range": (parameter("C", {"float": (-1.0).hex()}), "'C' parameter"),
        "parameters of another problem": (
            parameter("penalize_intercept", True),
            "problem is not that of its parameters",
        ),
        "a float in decimals": (parameter("C", 1.5), "not in hexadecimal"),
        "a float that is none": (parameter("C", {"float": "one"}), "invalid hexadecimal"),
        "a negative size": (attribute("n_features_in_", -1), "not a count"),
        "a huge size": (attribute("n_features_in_", 10**15), "size 1000000000000000"),
        "a huge number": (attribute("n_features_in_", 10**30), "too large"),
        "another size": (attribute("n_features_in_", 3), "coef_ has 2 instead of 3 for d"),
        "a missing tensor": (lambda tensors, _: tensors.pop("dual_coef_"), "dual_coef_ is missing"),
        "a missing value": (lambda _, content: content["attributes"].pop("n_features_in_"), "is missing"),
        "another shape": (tensor("coef_", lambda array: array[:, :1]), "coef_ has 1 instead of 2 for d"),
        "fewer classes": (tensor("intercept_", lambda array: array[:2]), "instead of 3 for k"),
        "another axis": (tensor("coef_", lambda array: array[None]), "coef_ has 3 axes"),
        "another type": (tensor("coef_", lambda array: array.astype(np.float32)), "type F32"),
        "nan in a coefficient": (tensor("coef_", place(np.nan)), "not finite"),
        "a row that is not there": (tensor("support_", place(10**6)), "support_ has indices outside"),
        "a negative row": (tensor("support_", place(-1)), "support_ has indices outside"),
        "a row twice": (tensor("support_", lambda array: np.r_[array[0], array[0]]), "support_ has an index twice"),
        "labels out of order": (attribute("classes_", ["rose", "iris", "x"]), "not in order"),
        "one label": (attribute("classes_", ["rose"]), "two labels or more"),
        "labels of two types": (attribute("classes_", ["iris", 1, 2]), "not of the type text 5"),
        "labels of much room": (attribute("classes_.type", "text 100000000"), "room for 100000000 letters"),
        "labels of code": (attribute("classes_.type", "V8"), "labels are numbers, booleans or text"),
        "more labels": (attribute("classes_", ["a", "b", "c", "d"]), "for k"),
        "a status that is none": (attribute("status_", "great"), "great"),
        "a layout of nothing": (entry("column_major", ["nothing"]), "layout of nothing"),
        "a key twice": (None, "twice"),
        "a number that is no JSON": (None, "NaN is not JSON"),
    }


@pytest.mark.parametrize("edit", list(edits()))
def test_edited_files_are_refused(edit, saved, tmp_path):
    path = saved[0][0]
    change, message = edits()[edit]
    tensors, content = content_of(path)
    if edit == "a key twice":
        content = json.dumps(content).replace('"version": 2', '"version": 2, "version": 2')
    elif edit == "a number that is no JSON":
        content = json.dumps(content).replace('"version": 2', '"version": NaN')
    else:
        change(tensors, content)
    edited = tmp_path / "edited"
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(edited)
    assert str(edited) in str(caught.value)


def test_edited_sparse_rows_are_refused(saved, tmp_path):
    path = saved[1][0]
    edited = tmp_path / "edited"

    def refused(name, change, message):
        tensors, content = content_of(path)
        tensors[name] = change(tensors[name].copy())
        write_content(edited, tensors, content)
        with pytest.raises(ModelFileError, match=message):
            load(edited)

    def put(place, value):
        def change(array):
            array[place] = value
            return array

        return change

    rows = "support_vectors_"
    refused(f"{rows}.indices", put(0, 2), "columns outside of 0 to 1")
    refused(f"{rows}.indices", put(0, -1), "columns outside of 0 to 1")
    refused(f"{rows}.indices", put(1, 0), "not in order")
    refused(f"{rows}.indptr", put(0, 1), "do not follow each other")
    refused(f"{rows}.indptr", put(-1, 10**6), "do not follow each other")
    refused(f"{rows}.indptr", put(1, 10**6), "do not follow each other")
    refused(f"{rows}.indptr", lambda array: array[:-1], "rows instead of")
    refused(f"{rows}.data", put(0, np.inf), "not finite")
    refused("_n_support", put(0, 1), "does not add up")
    refused("_n_support", put(0, -1), "negative")
    refused("support_", put(0, 10**6), "indices outside")
    tensors, content = content_of(path)
    content["attributes"]["_kernel"] = {"pairs": [["name", "eval"]]}
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match="no kernel that a file can hold"):
        load(edited)
    content["attributes"]["_kernel"] = {"pairs": [["name", "rbf"], ["gamma", {"float": (-1.0).hex()}]]}
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match="gamma = -1"):
        load(edited)


def test_edited_perceptrons_are_refused(tmp_path):
    path, edited = tmp_path / "model", tmp_path / "edited"
    save(Perceptron(max_iter=3).fit(X, CODES), path)

    def refused(name, change, message):
        tensors, content = content_of(path)
        changed = change(tensors.pop(name))
        if changed is not None:
            tensors[name] = changed
        write_content(edited, tensors, content)
        with pytest.raises(ModelFileError, match=message):
            load(edited)

    refused("mistakes_per_pass_.1", lambda _: None, "mistakes_per_pass_.1 is missing")
    refused("mistakes_per_pass_.0", lambda counts: counts - 10**6, "mistakes_per_pass_.0 has negative entries")
    refused("mistakes_per_pass_.0", lambda counts: counts.astype(float), "mistakes_per_pass_.0 has the type F64")
    refused("_ends.w", lambda _: None, "_ends.w is missing")
    refused("_ends.w", lambda w: w[:2], "_ends.w has 2 instead of 3 for k")
    refused("_ends.seen", lambda seen: -seen, "_ends.seen has negative entries")
    refused("_ends.intercept", lambda b: b + np.inf, "_ends.intercept has entries that are not finite")


def places_in(content, path=()):
    """The paths to all values of a JSON object."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places_in(value, (*path, key))


@pytest.mark.parametrize("number", [0, 1, 3])
def test_values_of_another_kind_are_refused_or_harmless(saved, tmp_path, number):
    """Whatever stands at any place of the JSON, reading ends with a model or with ModelFileError."""
    tensors, content = content_of(saved[number][0])
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    edited, text = tmp_path / "edited", json.dumps(content)
    refused = 0
    for path in places_in(content):
        for odd in (None, -1, "text", [[]], {"pairs": [["kind", "ClassificationGap"], [1, 2]]}):
            changed = json.loads(text)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = odd
            write_content(edited, tensors, changed)
            try:
                load(edited)
            except ModelFileError:
                refused += 1
    assert refused > 100


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other"
    save_file({"coef_": np.zeros(3)}, path)
    with pytest.raises(ModelFileError, match="not one of maxmargin's"):
        load(path)
    write_content(path, {}, "[" * 100_000)
    with pytest.raises(ModelFileError):
        load(path)
    header = b'{"coef_":{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,8000000000000]}}'
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ModelFileError):
        load(path)
    path.write_bytes(struct.pack("<Q", 2**60) + header)
    with pytest.raises(ModelFileError):
        load(path)


def claims(content):
    """The numbers of a file's certificate, of the first class if there are several."""
    pairs = content["attributes"]["certificate_"]["pairs"]
    if pairs[0][1] == "PerClass":
        pairs = pairs[1][1][0][1]["pairs"]
    return pairs


def claim(content, name, value):
    for pair in claims(content):
        if pair[0] == name:
            pair[1] = value


def test_a_certificate_that_claims_more_is_found_out(saved, tmp_path):
    path, data, labels = saved[0]
    edited = tmp_path / "edited"
    tensors, content = content_of(path)
    numbers = dict(claims(content))
    claim(content, "dual", numbers["primal"])
    write_content(edited, tensors, content)
    model = load(edited)
    with pytest.raises(CertificateError, match="dual"):
        model.certificate_.check(certify(model, data, labels))
    for name, value, reason in (
        ("dual", {"float": "inf"}, "does not hold"),
        ("dual", {"float": "nan"}, "does not hold"),
        ("dual", "all", "has dual = 'all'"),
        ("outside", -1, "outside = -1"),
        ("kind", "CertificateError", "no certificate 'CertificateError'"),
    ):
        tensors, content = content_of(path)
        claim(content, name, value)
        write_content(edited, tensors, content)
        with pytest.raises(ModelFileError, match=reason):
            load(edited)


@pytest.mark.parametrize("number", range(8))
def test_vectors_that_were_changed_no_longer_have_their_certificate(saved, tmp_path, number):
    path, data, labels = saved[number]
    edited = tmp_path / "edited"
    tensors, content = content_of(path)
    name = next(name for name in ("coef_", "_duals", "dual_coef_") if name in tensors)
    tensors[name] = tensors[name] * np.linspace(1.0, 1.5, tensors[name].size).reshape(tensors[name].shape)
    write_content(edited, tensors, content)
    model = load(edited)
    with pytest.raises(CertificateError):
        model.certificate_.check(certify(model, data, labels))


def test_headers_that_two_readers_could_take_for_different_ones(saved, tmp_path):
    path, edited = saved[0][0], tmp_path / "edited"
    data, digits = path.read_bytes(), content_of(path)[1]["sha256"]
    length = struct.unpack("<Q", data[:8])[0]
    header, rest = data[8 : 8 + length].rstrip(), data[8 + length :]

    def refused(header, message):
        header += b" " * (-len(header) % 8)
        edited.write_bytes(with_checksum(struct.pack("<Q", len(header)) + header + rest, digits))
        with pytest.raises(ModelFileError, match=message):
            load(edited)

    metadata = json.dumps(json.loads(header)["__metadata__"]).encode()
    refused(header[:-1] + b',"__metadata__":' + metadata + b"}", "twice")
    refused(header[:-1] + b',"coef_":' + json.dumps(json.loads(header)["coef_"]).encode() + b"}", "twice")
    edited.write_bytes(data.replace(digits.encode(), b"1" * 64))
    with pytest.raises(ModelFileError, match="checksum is not that of its bytes"):
        load(edited)


def test_nothing_that_runs_code_is_imported():
    folder = Path(maxmargin.files.__file__).parent
    for name in ("model", "container", "problem", "fingerprint", "schema", "reader", "values", "atomic"):
        tree = ast.parse((folder / f"{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                modules = [node.module] if isinstance(node, ast.ImportFrom) else [part.name for part in node.names]
                assert not {"pickle", "joblib", "marshal", "importlib"} & {module.split(".")[0] for module in modules}
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "__import__")
