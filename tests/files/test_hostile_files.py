"""Damaged files of every format are refused by an error that names them; true models of extreme data are verified."""

import json
import struct

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm
import maxmargin_check
from checker_cases import forge
from maxmargin.files import StoreError, open_store, read_data, write_onnx, write_store
from maxmargin.files.model import read_model_file
from maxmargin.files.verification import verify_file

X = np.random.default_rng(0).standard_normal((20, 2))
Y = X @ [1.0, -2.0] + np.sin(np.arange(20.0))


@pytest.mark.parametrize("text", [b"x,\xceabel\n1,2\n", b"x,label\n\xff,2\n1,3\n"], ids=["name", "value"])
def test_tables_that_are_not_utf8_are_refused(tmp_path, text):
    (tmp_path / "rows.csv").write_bytes(text)
    with pytest.raises(ValueError, match=r"rows\.csv"):
        read_data(tmp_path / "rows.csv", target="label")


def test_damaged_parquet_is_a_value_error(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "rows.parquet").write_bytes(b"PAR1" + b"\0" * 40 + b"PAR1")
    with pytest.raises(ValueError, match=r"rows\.parquet"):
        read_data(tmp_path / "rows.parquet", target="label")
    with pytest.raises(FileNotFoundError):
        read_data(tmp_path / "none.parquet", target="label")


@pytest.mark.parametrize("change", ["columns", "nesting"])
def test_manifests_beyond_what_can_be_counted_are_refused(tmp_path, change):
    write_store(tmp_path / "rows.store", [(sp.csr_array(X), Y)])
    path = tmp_path / "rows.store" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["shape"][1] = 2**63
    path.write_text(json.dumps(manifest) if change == "columns" else "[" * 100_000)
    with pytest.raises(StoreError, match="manifest"):
        open_store(tmp_path / "rows.store")


def test_the_checker_refuses_what_is_nested_too_deep(tmp_path):
    text = b'{"a":' + b"[" * 100_000
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(maxmargin_check.Unreadable):
        maxmargin_check.Check(tmp_path / "m", tmp_path / "m")


@pytest.mark.parametrize("name", ["_n_support", "rows"])
def test_forged_counts_do_not_fill_the_memory(tmp_path, name):
    labels = np.where(Y > 0.0, 1, 0)
    mm.save(mm.SVC().fit(X, labels), tmp_path / "m", X, labels)
    maxmargin_data = tmp_path / "d"
    rows = (
        " ".join([str(y), *(f"{j + 1}:{v!r}" for j, v in enumerate(x))])
        for x, y in zip(X.tolist(), labels, strict=True)
    )
    maxmargin_data.write_text("\n".join(rows))

    def more(content, arrays):
        if name == "rows":
            content["data"]["scores"]["pairs"] = [
                [key, 10**15 if key == "rows" else value] for key, value in content["data"]["scores"]["pairs"]
            ]
        else:
            arrays["_n_support"][:] = 2**31 - 1 if arrays["_n_support"].dtype.itemsize == 4 else 10**15

    forge(tmp_path / "m", more)
    found = {verdict for _, verdict, _ in maxmargin_check.Check(tmp_path / "m", maxmargin_data)}
    assert "FALSE" in found or name == "rows"


def test_a_lone_carriage_return_ends_no_line(tmp_path):
    (tmp_path / "rows").write_bytes(b"1 1:2\r2:3\n0 1:1\n")
    assert len(list(maxmargin_check.read_rows(tmp_path / "rows", (), None, 1))) == 2
    assert read_data(tmp_path / "rows").X.shape == (2, 2)


def test_onnx_of_a_regression_with_sparse_support_vectors(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model = mm.SVR().fit(sp.csr_array(X), Y)
    write_onnx(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["value"], {"X": X})[0], model.predict(X), rtol=1e-9)


# Data on which rounding is large beside what is stated, and weights and parameters at which tolerances overflow.
TRUE_MODELS = {
    "constant targets": (mm.Ridge(), X, np.full(20, 1e13), None),
    "targets far from zero": (mm.BayesianRegression(), X, Y + 1e13, None),
    "columns far from zero": (mm.BayesianRegression(), 10.0 * X + 1e13, Y, None),
    "subnormal variance": (mm.BayesianRegression(), X, 1e-160 * Y, None),
    "large weights": (mm.BayesianRegression(), X, 1e-160 * Y, np.full(20, 1e100)),
    "tiny scores": (mm.MarginPerceptron(fit_intercept=False), np.vstack([X, [0.0, 1e-320]]), np.sign([*Y, 1.0]), None),
    "overflowing kernel size": (mm.SVC(gamma=1e100), 1e100 * X, np.sign(Y), None),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TRUE_MODELS)
def test_true_models_of_extreme_data_are_verified(tmp_path, name):
    model, rows, targets, weights = TRUE_MODELS[name]
    arguments = {} if weights is None else {"sample_weight": weights}
    mm.save(model.fit(rows, targets, **arguments), tmp_path / "m", rows, targets, weights)
    assert verify_file(read_model_file(tmp_path / "m"), rows, targets, weights).why is None
