"""Models of prepared columns: tables as they were understood, scaling, and what other formats make of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from maxmargin import SVC, LinearSVC, LogisticRegression, certify, load, save
from maxmargin.files import (
    ModelFileError,
    TableOptions,
    UnseenWarning,
    read_data,
    read_liblinear_model,
    write_liblinear_model,
    write_libsvm_model,
    write_onnx,
)
from maxmargin.files.data_file import DataFile
from maxmargin.files.model import add_provenance, read_model_file
from maxmargin.files.preparation import Scaling
from maxmargin.files.proof_file import same_predictions, stripped

TABLE = "kind,size,when,n,y\nb,1.5,2024-02-29,1,p\na,,2023-12-31,2,q\nb,2.5,2024-01-01,x,p\n,3.5,1969-12-31,4,q\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(TABLE)
    return path


def test_a_table_is_understood_as_the_options_say(table):
    options = TableOptions(numeric=("n",), impute="median", dates="parts")
    found = read_data(table, target="y", table=options)
    parts = ["when:year", "when:month", "when:day", "when:weekday"]
    assert found.names == ["kind=a", "kind=b", "size", *parts, "n"]
    expected = [
        [0, 1, 1.5, 2024, 2, 29, 3, 1],
        [1, 0, 2.5, 2023, 12, 31, 6, 2],
        [0, 1, 2.5, 2024, 1, 1, 0, 2],
        [0, 1, 3.5, 1969, 12, 31, 2, 4],
    ]
    np.testing.assert_array_equal(found.X.toarray(), expected)
    days = read_data(table, target="y", table=TableOptions(drop=("kind", "size", "n")))
    np.testing.assert_array_equal(days.X[:, 0], [19782, 19722, 19723, -1])


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        (
            "a,y\n" + "1,p\n2,q\n" * 50 + "oops,p\n",
            {},
            r"'a' has 100 numbers and 1 other text, the first 'oops' in row 101",
        ),
        # Arrow takes a number beside such a space for a text.
        ("a,y\n1,p\n\x0c2,q\n", {}, r"rows.csv: column 'a' is of texts, and all of them are numbers: give numeric='a'"),
        ("a,y\n1,p\n,q\n", {}, r"'a' has 1 missing value, the first in row 2: give impute="),
        ("a,y\n" + "".join(f"id{k},{k % 2}\n" for k in range(50)), {}, "50 different texts in 50 rows"),
        ("a,y\n" + "u,1\nv,2\nw,1\n" * 9, {"max_categories": 2}, "3 different values, more than 2"),
        ("1,2\n3,4\n", {}, "first line holds numbers.*header=False"),
        ("a,y\n1,2\n", {"drop": ("b",)}, "drop='b' is no column"),
        ("a,a,y\n1,2,3\n", {}, "same name"),
        ("a,y\n", {}, "there are no rows"),
        ("", {}, "there are no rows"),
    ],
    ids=str,
)
def test_what_is_not_clear_is_refused(tmp_path, text, options, reason):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=reason):
        read_data(path, target="y", table=TableOptions(**options))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a;b;y\n1,5;u;2\n2,5;v;3\n", {"decimal": ","}),
        ("a\tb\ty\n1.5\tu\t2\n2.5\tv\t3\n", {}),
        ("a|b|y\n1.5|u|2\n2.5|v|3\n", {}),
        (" a , b,y\n1.5,u,2\n2.5,v,3\n", {}),
        ("a,b,y\n1.5,u,2\n2.5,v,3\n", {"delimiter": ","}),
    ],
    ids=str,
)
def test_csv_as_other_programs_write_it(tmp_path, text, options):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    found = read_data(path, target="y", table=TableOptions(**options))
    assert found.names == ["a", "b=u", "b=v"]
    np.testing.assert_array_equal(found.X.toarray(), [[1.5, 1, 0], [2.5, 0, 1]])
    np.testing.assert_array_equal(found.y, [2, 3])


def test_columns_without_names_and_other_encodings(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("1.5,größe,2\n2.5,maß,3\n".encode("latin-1"))
    found = read_data(path, target="3", table=TableOptions(header=False, encoding="latin-1"))
    assert found.names == ["1", "2=größe", "2=maß"]
    with pytest.raises(ValueError, match="encoding='latin-1'"):
        read_data(path, target="3", table=TableOptions(header=False))


def test_a_model_prepares_new_rows_as_it_was_trained(table, tmp_path):
    options = TableOptions(numeric=("n",), impute="mean", id="when")
    rows = read_data(table, target="y", table=options).scaled("standard")
    model = LinearSVC().fit(rows.X, rows.y)
    rows.name_features(model)
    save(model, tmp_path / "model", rows.X, rows.y, provenance={"command": "x", "metrics": {"accuracy": 1.0}})
    again = load(tmp_path / "model")
    assert again.preparation_.columns == model.preparation_.columns
    same = read_data(table, target="y", like=again)
    np.testing.assert_array_equal(same.X.toarray(), rows.X.toarray())
    again.certificate_.check(certify(again, same.X, same.y))
    new = tmp_path / "new.csv"
    new.write_text("n,size,kind,when\nz,,c,2020-01-01\n")
    with pytest.warns(UnseenWarning, match=r"1 value\(s\) of column 'kind' ignored"):
        found = read_data(new, like=again)
    assert found.X.shape == (1, 4)
    with pytest.raises(ValueError, match="did not occur"):
        read_data(new, like=again, unseen="error")
    assert read_model_file(tmp_path / "model").provenance["metrics"] == {"accuracy": 1.0}
    add_provenance(tmp_path / "model", {"command": "y"})
    assert read_model_file(tmp_path / "model").provenance == {"command": "y"}
    np.testing.assert_array_equal(load(tmp_path / "model").coef_, model.coef_)


@pytest.mark.parametrize(
    ("kind", "scaler"), [("standard", StandardScaler), ("minmax", MinMaxScaler), ("maxabs", MaxAbsScaler)]
)
def test_scaling_is_that_of_scikit_learn(kind, scaler):
    X = load_breast_cancer().data
    X[:, 3] = 7.25
    np.testing.assert_allclose(Scaling.of(X, kind)(X), scaler().fit_transform(X), rtol=1e-12, atol=1e-12)
    if kind == "minmax":
        with pytest.raises(ValueError, match="sparse"):
            Scaling.of(sp.csr_matrix(X), kind)
        return
    without = {"with_mean": False} if kind == "standard" else {}
    sparse = sp.csr_matrix(np.where(X > 1.0, X, 0.0))
    expected = scaler(**without).fit_transform(sparse)
    np.testing.assert_allclose(Scaling.of(sparse, kind)(sparse).toarray(), expected.toarray(), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_models_and_scaling_in_other_formats(tmp_path, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    rows = DataFile(X, y).scaled("standard")
    multi_class = {"multi_class": "ovr"} if "multi_class" in LogisticRegression._get_param_names() else {}
    model = LogisticRegression(**multi_class).fit(rows.X, y)
    rows.name_features(model)
    path = tmp_path / "model"
    write_liblinear_model(model, path)
    assert path.read_text().startswith("solver_type L2R_LR\n")
    other = read_liblinear_model(path)
    np.testing.assert_array_equal(other.predict(X), model.predict(rows.X))
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(rows.X), atol=1e-9)
    runtime = pytest.importorskip("onnxruntime")
    write_onnx(model, tmp_path / "model.onnx")
    label, _, probabilities = runtime.InferenceSession(tmp_path / "model.onnx").run(None, {"X": X})
    np.testing.assert_array_equal(label, model.predict(rows.X))
    np.testing.assert_allclose(probabilities, model.predict_proba(rows.X), atol=1e-12)
    machine = SVC().fit(rows.X, y)
    rows.name_features(machine)
    with pytest.raises(ModelFileError, match="scaled"):
        write_libsvm_model(machine, path)


LIBLINEAR = "L2R_LR L2R_L2LOSS_SVC_DUAL L2R_L2LOSS_SVC L2R_L1LOSS_SVC_DUAL MCSVM_CS L1R_L2LOSS_SVC L1R_LR L2R_LR_DUAL"


@pytest.mark.parametrize("solver", LIBLINEAR.split())
def test_all_classifiers_of_liblinear_are_read(tmp_path, solver):
    path = tmp_path / "model"
    weights = "0.5 0.1 -0.5\n-1 0 1\n" if solver == "MCSVM_CS" else "0.5\n-1\n"
    labels = "3\nlabel 1 2 3" if solver == "MCSVM_CS" else "2\nlabel 2 1"
    path.write_text(f"solver_type {solver}\nnr_class {labels}\nnr_feature 2\nbias -1\nw\n{weights}")
    assert read_liblinear_model(path).predict([[1.0, 0.0], [0.0, 1.0]]).tolist() in ([2, 1], [1, 3])


@pytest.mark.parametrize("model", [LinearSVC(), LogisticRegression(), SVC()], ids=repr)
def test_stripped_models_predict_the_same(tmp_path, model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    save(model, tmp_path / "whole", X, y)
    save(stripped(model), tmp_path / "lean")
    lean = load(tmp_path / "lean")
    np.testing.assert_array_equal(lean.decision_function(X), model.decision_function(X))
    assert not hasattr(lean, "certificate_")
    assert same_predictions(lean, load(tmp_path / "whole"))
    # The size does not depend on the number of rows: no vector has one entry a row.
    if not hasattr(model, "support_vectors_"):
        more = type(model)(**model.get_params()).fit(np.tile(X, (4, 1)), np.tile(y, 4))
        save(stripped(more), tmp_path / "of_more")
        assert abs((tmp_path / "of_more").stat().st_size - (tmp_path / "lean").stat().st_size) < 64
