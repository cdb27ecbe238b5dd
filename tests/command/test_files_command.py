"""The command on files: train, predict, evaluate, search, separate, info, convert."""

import json
import signal
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.preprocessing import scale

from command_runner import run, runner, told
from maxmargin import (
    SVC,
    LinearSVC,
    Perceptron,
    Ridge,
    load,
)
from maxmargin.cli.app import app
from maxmargin.estimators._progress import FitLimits
from maxmargin.files import open_store, read_data, read_svmlight, save, store_text, write_store, write_svmlight
from maxmargin.files.compression import bytes_listener
from maxmargin.solvers.core import step_listener


@pytest.mark.parametrize(
    "options",
    [
        ["--model", "linear-svc", "-C", "0.1"],
        ["--model", "svc", "--gamma", "0.05"],
        ["--model", "perceptron", "--max-iter", "50", "--seed", "3"],
        ["--model", "svc", "--kernel", "poly", "--degree", "2", "--coef0", "1"],
    ],
    ids=lambda options: "-".join(options[1:4]),
)
def test_train_verify_predict_evaluate(cancer, tmp_path, options):
    model = tmp_path / "cancer.model"
    answer = told("train", cancer, "-o", model, "--test", cancer, *options)
    assert answer["accuracy_train"] > 0.95
    assert answer["accuracy_test"] == answer["accuracy_train"]
    assert told("verify", model, cancer)["true"] is True
    assert "certificate" in told("info", model)
    labels = tmp_path / "labels.txt"
    run("predict", model, cancer, "-o", labels)
    data, machine = read_data(cancer), load(model)
    np.testing.assert_array_equal(np.loadtxt(labels), machine.predict(data.X))
    assert run("predict", model, cancer).stdout == labels.read_text()
    found = told("evaluate", model, cancer)
    assert found["accuracy"] == answer["accuracy_train"]
    assert sum(found["confusion_matrix"]["counts"][0]) == int((data.y == -1).sum())
    assert found["margins"]["smallest"] <= found["margins"]["quantile_05"] <= found["margins"]["median"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ridge", ["--lam", "0.1"]),
        ("ridge", ["--sigma2", "0.2", "--tau2", "2"]),
        ("lasso", ["--lam", "0.1"]),
        ("lasso", ["--sigma2", "0.2", "--rate", "0.5"]),
        ("bayesian-regression", []),
        ("bayesian-regression", ["--no-intercept"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value[::2]),
)
def test_linear_regressions(petals, tmp_path, name, options):
    model = tmp_path / "petals.model"
    answer = told("train", petals, "-o", model, "--model", name, *options)
    assert answer["r2_train"] > 0.9
    assert "duality gap" in answer["certificate"]
    assert told("verify", model, petals)["true"] is True
    assert load(model).fit_intercept is ("--no-intercept" not in options)
    if "--sigma2" in options:
        direct = told("train", petals, "-o", model, "--model", name, "--lam", "0.1")
        assert direct["proof"]["primal"] == pytest.approx(answer["proof"]["primal"], rel=1e-4)


@pytest.mark.parametrize(
    "options",
    [["--solver", "newton"], ["--solver", "gradient", "--step-size", "1e-3", "-C", "1"], ["--no-intercept"]],
    ids=lambda options: "".join(options[:2]),
)
def test_logistic_regressions(tmp_path, options):
    path, model = tmp_path / "iris.svm", tmp_path / "iris.model"
    X, y = load_iris(return_X_y=True)
    write_svmlight(path, scale(X), np.where(y == 1, 1, -1))
    answer = told("train", path, "-o", model, "--model", "logistic-regression", "--tol", "1e-3", *options)
    assert answer["status"] == "solved"
    assert told("verify", model, path)["true"] is True
    machine = load(model)
    assert machine.solver == ("auto" if options == ["--no-intercept"] else options[1])
    assert machine.step_size == (1e-3 if "--step-size" in options else None)
    assert machine.fit_intercept is (options != ["--no-intercept"])


def test_probabilities(iris, tmp_path):
    model = tmp_path / "iris.model"
    run("train", iris, "-o", model, "--model", "logistic-regression", "-C", "1")
    data, machine = read_data(iris), load(model)
    lines = [line.split("\t") for line in run("predict", model, iris, "--proba").stdout.splitlines()]
    assert [int(line[0]) for line in lines] == machine.predict(data.X).tolist()
    found = np.array([line[1:] for line in lines], dtype=float)
    np.testing.assert_array_equal(found, machine.predict_proba(data.X))
    first = json.loads(run("predict", model, iris, "--proba", "--scores", "--json").stdout.splitlines()[0])
    assert first["probabilities"] == found[0].tolist()
    assert first["scores"] == machine.decision_function(data.X)[0].tolist()


def test_predictive_deviations_and_intervals(petals, tmp_path):
    model = tmp_path / "petals.model"
    run("train", petals, "-o", model, "--model", "bayesian-regression")
    data, machine = read_data(petals, values=True), load(model)
    found = np.loadtxt(run("predict", model, petals, "--std", "--interval", "0.9").stdout.splitlines())
    np.testing.assert_array_equal(found[:, :2].T, machine.predict(data.X, return_std=True))
    assert 0.85 <= np.mean((found[:, 2] < data.y) & (data.y < found[:, 3])) <= 0.95
    first = json.loads(run("predict", model, petals, "--std", "--interval", "0.9", "--json").stdout.splitlines()[0])
    assert [first["label"], first["std"], *first["interval"]] == found[0].tolist()


def test_coefficients_are_shown(iris, petals, tmp_path):
    model = tmp_path / "model"
    run("train", petals, "-o", model, "--model", "lasso", "--lam", "20")
    head, *rows = told("info", model, "--coefficients")["coefficients"]
    machine = load(model)
    (used,) = machine.coef_.nonzero()
    assert head == ["column", "coefficient"]
    assert 0 < used.size < 3
    assert rows == [*([str(j + 1), machine.coef_[j]] for j in used), ["intercept", machine.intercept_]]
    run("train", petals, "-o", model, "--model", "bayesian-regression")
    head, *rows = told("info", model, "--coefficients")["coefficients"]
    assert head == ["column", "coefficient", "95 % from", "to"]
    np.testing.assert_array_equal([row[2:] for row in rows], load(model).credible_interval(0.95))
    run("train", iris, "-o", model, "--model", "logistic-regression", "-C", "1", "--no-intercept")
    head, *rows = told("info", model, "--coefficients")["coefficients"]
    assert head == ["column", "0", "1", "2"]
    np.testing.assert_array_equal(np.transpose([row[1:] for row in rows]), load(model).coef_)
    run("train", iris, "-o", model, "--model", "svc", "--kernel", "linear")
    assert "kernel" in str(runner.invoke(app, ["info", str(model), "--coefficients"]).exception)


def test_many_classes_scores_and_cross_validation(iris, tmp_path):
    model = tmp_path / "iris.model"
    answer = told("train", iris, "-o", model, "--model", "svc", "--cv", "3")
    assert 0.9 < answer["accuracy_cv"]["mean"] <= 1.0
    assert 0.0 <= answer["accuracy_cv"]["std"] < 0.1
    lines = run("predict", model, iris, "--scores").stdout.splitlines()
    data, machine = read_data(iris), load(model)
    scores = np.array([line.split("\t")[1:] for line in lines], dtype=float)
    np.testing.assert_array_equal(scores, machine.decision_function(data.X))
    assert told("evaluate", model, iris)["accuracy"] == answer["accuracy_train"]


@pytest.mark.parametrize("model", ["linear-svc", "svc", "logistic-regression"])
def test_search_chooses_the_penalty(cancer, tmp_path, model):
    answer = told("train", cancer, "-o", tmp_path / "model", "--model", model, "--search")
    assert 0.001 <= answer["chosen"]["C"] <= 1000
    assert answer["chosen"]["score"] > 0.95


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("far", [0.0, 1e3])
@pytest.mark.parametrize("model", ["ridge", "lasso"])
def test_search_chooses_lambda_whatever_the_units(tmp_path, model, far, unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40))
    y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(60)
    path, found = tmp_path / "rows.svm", tmp_path / "model"
    write_svmlight(path, unit * (X + far), y)
    answer = told("train", path, "-o", found, "--model", model, "--search", "--seed", 1)
    assert load(found).lam == answer["chosen"]["lam"]
    assert answer["chosen"]["score"] > (0.7 if model == "lasso" else 0.3)
    least = Ridge(lam=0.0).fit(X[:48], y[:48]).score(X[48:], y[48:])
    assert answer["chosen"]["score"] > least


@pytest.mark.parametrize("model", ["ridge", "lasso"])
def test_search_where_every_lambda_is_as_good(tmp_path, model):
    rows = tmp_path / "rows.svm"
    rows.write_text("3 1:1 2:2\n" * 10)
    assert told("train", rows, "-o", tmp_path / "model", "--model", model, "--search")["r2_train"] == 1.0


def test_regressions(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    path, model = tmp_path / "values.svm", tmp_path / "model"
    write_svmlight(path, X, y)
    for name in ("linear-svr", "svr"):
        answer = told("train", path, "-o", model, "--model", name, "-C", 100, "--epsilon", 1)
        assert answer["r2_train"] > 0.2
        assert told("evaluate", model, path)["r2"] == pytest.approx(answer["r2_train"])
        assert told("verify", model, path)["true"] is True


def test_a_table_with_categories_keeps_its_vocabulary_in_the_model(tmp_path):
    table, new, model = tmp_path / "fruit.csv", tmp_path / "new.csv", tmp_path / "fruit.model"
    rows = ["size,colour,fruit"]
    rows += [
        f"{size},{colour},{'plum' if colour == 'blue' else 'pear'}" for size in range(5) for colour in ("blue", "green")
    ]
    table.write_text("\n".join(rows) + "\n")
    answer = told("train", table, "-o", model, "--target", "fruit")
    assert answer["accuracy_train"] == 1.0
    assert told("info", model)["names"] == ["size", "colour=blue", "colour=green"]
    # Other order, no target, and a colour that was never seen.
    new.write_text("colour,size\ngreen,1\nblue,2\nred,3\n")
    assert run("predict", model, new).stdout.split()[:2] == ["pear", "plum"]
    assert told("verify", model, table, "--target", "fruit")["true"] is True
    for text, why in (
        ("size,colour,fruit\n1,,plum\n", "colour"),
        ("size,fruit\n1,plum\n", "colour"),
        ("size,colour,fruit\nx,blue,plum\n", "size"),
    ):
        new.write_text(text)
        result = runner.invoke(app, ["evaluate", str(model), str(new), "--target", "fruit"])
        assert result.exit_code != 0
        assert why in str(result.exception)
        assert runner.invoke(app, ["predict", str(model), str(new)]).exit_code != 0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_are_predicted_in_blocks(tmp_path, ending):
    import pandas as pd

    from maxmargin.files import tables

    n = 200_000
    rng = np.random.default_rng(0)
    # Whole numbers first, others later; categories that look like numbers.
    frame = pd.DataFrame(
        {
            "size": np.where(np.arange(n) < n // 2, rng.integers(9, size=n), rng.random(n)),
            "round": rng.random(n) < 0.5,
            "kind": rng.choice(["7", "8", "x"], size=n),
        }
    )
    frame["fruit"] = np.where((frame["kind"] == "7") | frame["round"], "plum", "pear")
    path, model = tmp_path / f"fruit.{ending}", tmp_path / "fruit.model"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    assert told("train", path, "-o", model, "--target", "fruit")["accuracy_train"] == 1.0
    assert told("evaluate", model, path, "--target", "fruit")["accuracy"] == 1.0
    blocks = list(tables.read_table_blocks(path, names=list(load(model).feature_names_in_)))
    assert len(blocks) > 3
    whole = read_data(path, target="fruit", like=load(model)).X
    assert sum(block.X.shape[0] for block in blocks) == n
    assert (abs(whole[: blocks[0].X.shape[0]] - blocks[0].X)).max() == 0
    assert run("predict", model, path).stdout.split() == frame["fruit"].tolist()
    sevens = frame[frame["kind"] == "7"].drop(columns="fruit")
    sevens.to_csv(path, index=False) if ending == "csv" else sevens.to_parquet(path)
    assert set(run("predict", model, path, "--target", "fruit").stdout.split()) == {"plum"}


def test_parquet_and_missing_values(tmp_path):
    import pandas as pd

    X, y = load_iris(return_X_y=True, as_frame=True)
    path, model = tmp_path / "iris.parquet", tmp_path / "model"
    pd.concat([X, y], axis=1).to_parquet(path)
    assert told("train", path, "-o", model, "--target", "target")["accuracy_train"] > 0.9
    X.iloc[3, 2] = np.nan
    pd.concat([X, y], axis=1).to_parquet(path)
    with pytest.raises(ValueError, match="petal length"):
        read_data(path, target="target")
    with pytest.raises(ValueError, match="target"):
        read_data(path)


def test_a_store_holds_the_same_and_tells_of_damage(cancer, tmp_path):
    store, model = tmp_path / "cancer.store", tmp_path / "model"
    run("convert", cancer, store)
    text, mapped = read_data(cancer), open_store(store, check=True)
    assert isinstance(mapped.X.data, np.memmap)
    assert (text.X != mapped.X).nnz == 0
    np.testing.assert_array_equal(text.y, mapped.y)
    assert told("train", store, "-o", model)["accuracy_train"] > 0.95
    assert told("verify", model, cancer)["true"] is True
    np.testing.assert_array_equal(load(model).coef_, LinearSVC().fit(text.X, text.y).coef_)
    assert run("predict", model, store).stdout == run("predict", model, cancer).stdout
    back = tmp_path / "back.svm"
    run("convert", store, back)
    assert (read_data(back).X != text.X).nnz == 0
    values = (store / "data.bin").read_bytes()
    (store / "data.bin").write_bytes(values[:-1] + bytes([values[-1] ^ 1]))
    with pytest.raises(ValueError, match="checksum"):
        open_store(store, check=True)
    (store / "data.bin").write_bytes(values[:-8])
    with pytest.raises(ValueError, match="damaged"):
        open_store(store)
    (store / "manifest.json").write_text("{}")
    with pytest.raises(ValueError, match="damaged"):
        open_store(store)
    with pytest.raises(ValueError, match="not a store"):
        store_text(cancer, tmp_path)


@pytest.mark.parametrize("kind", ["maxmargin", "libsvm", "onnx"])
def test_models_are_converted(iris, tmp_path, kind):
    data = read_data(iris)
    machine = SVC().fit(data.X, data.y)
    source, other = tmp_path / "source", tmp_path / "other"
    save(machine, source)
    run("convert", source, other, "--to", kind)
    if kind == "onnx":
        runtime = pytest.importorskip("onnxruntime")
        labels, scores = runtime.InferenceSession(str(other)).run(None, {"X": data.X.toarray()})
        np.testing.assert_array_equal(labels, machine.predict(data.X))
        np.testing.assert_allclose(scores, machine.decision_function(data.X), atol=1e-12)
    else:
        assert run("predict", other, iris).stdout == run("predict", source, iris).stdout


def test_ctrl_c_writes_the_model_that_was_found_so_far(cancer, tmp_path, monkeypatch):
    whole = LinearSVC.fit

    def interrupted(self, X, y):
        whole(self, X, y)
        raise KeyboardInterrupt

    monkeypatch.setattr(LinearSVC, "fit", interrupted)
    (tmp_path / "model").write_text("solved")
    assert "certificate" in run("train", cancer, "-o", tmp_path / "model", code=130).stdout
    assert (tmp_path / "model").read_text() == "solved"
    assert told("verify", tmp_path / "model.interrupted", cancer)["true"] is True

    monkeypatch.setattr(LinearSVC, "fit", lambda self, X, y: signal.raise_signal(signal.SIGINT))  # noqa: ARG005
    runner.invoke(app, ["train", str(cancer), "-o", str(tmp_path / "none")])
    assert not (tmp_path / "none").exists()


def test_a_model_without_a_certificate_is_written_and_says_so(cancer, tmp_path, monkeypatch):
    monkeypatch.setattr(FitLimits, "must_end_certificate", lambda _: True)
    model = tmp_path / "model"
    answer = told("train", cancer, "-o", model, "--max-time", 60)
    assert (answer["status"], answer["certificate"]) == ("time limit", None)
    assert "none: there was no time" in run("train", cancer, "-o", model, "--max-time", 60).stdout
    monkeypatch.undo()
    assert run("predict", model, cancer).stdout
    assert "certificate" not in told("info", model)
    refused = runner.invoke(app, ["verify", str(model), str(cancer)])
    assert "left no time for it" in str(refused.exception)
    monkeypatch.setattr(FitLimits, "must_end_certificate", lambda _: True)
    answer = told("train", cancer, "-o", model, "-m", "perceptron", "--passes", 2)
    assert answer["certificate"] is None
    assert "mistake_bound" not in answer


def test_bars_are_shown_on_a_terminal_only(cancer, tmp_path):
    arguments = ["train", str(cancer), "-o", str(tmp_path / "model"), "--json", "--cv", "2"]
    shown = runner.invoke(app, arguments, env={"FORCE_COLOR": "1", "COLUMNS": "120", "TERM": "xterm"})
    assert all(name in shown.stderr for name in ("reading", "training", "cross-validation", "writing"))
    assert json.loads(shown.stdout)["accuracy_train"] > 0.9
    hidden = runner.invoke(app, arguments)
    assert hidden.stderr == ""


def test_listeners_hear_how_much_is_done(cancer, iris):
    read, steps = [], []
    heard = bytes_listener.set(lambda done, size: read.append((done, size)))
    try:
        X, y = read_svmlight(cancer)
        read_svmlight(iris)
    finally:
        bytes_listener.reset(heard)
    sizes = {cancer.stat().st_size, iris.stat().st_size}
    assert {size for _, size in read} == sizes
    assert sizes <= {done for done, _ in read}
    heard = step_listener.set(lambda share, found: steps.append((share, found)))
    try:
        LinearSVC(tol=1e-8).fit(X, y)
        n_steps = len(steps)
        Perceptron(max_iter=20, tol=None).fit(X, y)
    finally:
        step_listener.reset(heard)
    assert n_steps > 2
    assert len(steps) > n_steps + 2
    assert all(0.0 <= share <= 1.0 for share, _ in steps)
    assert "gap" in steps[0][1]
    assert steps[-1][0] == 1.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(C=1e-3, solver="newton", tol=1e-2),
        LinearSVC(C=1e-3, solver="coordinate", max_iter=3),
        Perceptron(max_iter=3),
    ],
    ids=repr,
)
def test_training_from_a_store_never_copies_it(tmp_path, model, sparse):
    rng = np.random.default_rng(0)
    n, d = 40_000, 400
    X = rng.standard_normal((n, d))
    y = np.where(X[:, :20].sum(axis=1) + 3.0 * rng.standard_normal(n) > 0.0, 1, -1)
    write_store(tmp_path / "rows.store", [(sp.csr_matrix(X) if sparse else X, y)])
    stored = open_store(tmp_path / "rows.store")
    X = sp.csr_matrix(X) if sparse else X
    size = X.data.nbytes
    in_memory = clone(model).set_params(random_state=0).fit(X, y)
    # Compiling for read-only arrays needs memory of its own.
    clone(model).fit(stored.X[:500], stored.y[:500])
    tracemalloc.start()
    try:
        mapped = clone(model).set_params(random_state=0).fit(stored.X, stored.y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size / 2
    np.testing.assert_array_equal(mapped.coef_, in_memory.coef_)
    assert mapped.certificate_ == in_memory.certificate_


def test_separate_writes_a_witness(cancer, tmp_path):
    witness = tmp_path / "witness.npz"
    answer = told("separate", cancer, "-o", witness)
    data = read_data(cancer)
    with np.load(witness) as arrays:
        if answer["separable"]:
            scores = data.X @ arrays["coef"] + arrays["intercept"]
            assert (np.where(data.y == 1, scores, -scores) > 0).all()
        else:
            weights = arrays["hull_weights"]
            difference = data.X.T @ np.where(data.y == 1, weights, -weights)
            assert np.abs(difference).max() < 1e-6
    assert "margin" in answer["certificate"]


def test_a_store_is_made_beside_the_text_on_request(cancer, tmp_path):
    first = told("train", cancer, "-o", tmp_path / "a", "--store")
    store = tmp_path / "cancer.svm.store"
    made = (store / "manifest.json").stat().st_mtime_ns
    second = told("train", cancer, "-o", tmp_path / "b", "--store")
    assert (store / "manifest.json").stat().st_mtime_ns == made
    assert first["certificate"] == second["certificate"]
    np.testing.assert_array_equal(load(tmp_path / "a").coef_, load(tmp_path / "b").coef_)


def test_the_test_file_of_a_store_may_count_from_zero(tmp_path):
    rows, model = tmp_path / "rows.svm", tmp_path / "model"
    rows.write_text("".join(f"{1 if k % 2 else -1} 0:{k % 2} 1:1\n" for k in range(20)))
    answer = told("train", rows, "-o", model, "--store", "--zero-based", "--test", rows)
    assert answer["accuracy_test"] == answer["accuracy_train"] == 1.0


@pytest.mark.parametrize(
    ("known", "new"),
    [(["no", "yes"], ["no", "perhaps", "yes"]), ([-1, 1], [-1.0, 0.5, 1.0]), ([0, 1], [0, 300, 1])],
    ids=["text", "floats", "integers"],
)
def test_confusion_of_labels_that_the_model_does_not_know(tmp_path, known, new):
    table, other, model = tmp_path / "known.csv", tmp_path / "new.csv", tmp_path / "model"
    table.write_text("a,label\n" + "".join(f"{k % 2},{known[k % 2]}\n" for k in range(20)))
    assert told("train", table, "--target", "label", "-o", model)["accuracy_train"] == 1.0
    other.write_text("a,label\n" + "".join(f"{a},{label}\n" for a, label in zip((0, 0, 1), new, strict=True)))
    answer = told("evaluate", model, other, "--target", "label")
    matrix = answer["confusion_matrix"]
    labels = matrix["labels"]
    assert len(labels) == 3
    truth = {
        label: dict(zip(labels, counts, strict=True)) for label, counts in zip(labels, matrix["counts"], strict=True)
    }
    assert truth[str(new[1])][str(known[0])] == 1
    assert sum(sum(counts.values()) for counts in truth.values()) == 3
    assert answer["accuracy"] == pytest.approx(2 / 3)


def test_labels_that_were_text_for_the_model_may_be_numbers_now(tmp_path):
    table, new, model = tmp_path / "known.csv", tmp_path / "new.csv", tmp_path / "model"
    known = ["7", "x"]
    table.write_text("a,label\n" + "".join(f"{k % 2},{known[k % 2]}\n" for k in range(20)))
    new.write_text("a,label\n0,7\n0,8\n")
    answer = told("train", table, "--target", "label", "-o", model, "--test", new)
    assert answer["accuracy_test"] == told("evaluate", model, new, "--target", "label")["accuracy"] == 0.5
    assert told("verify", model, table, "--target", "label")["true"] is True


def test_margins_of_many_classes(iris, tmp_path):
    for model in ("linear-svc", "svc"):
        run("train", iris, "-o", tmp_path / "model", "--model", model)
        answer = told("evaluate", tmp_path / "model", iris)
        margins = answer["margins"]
        assert margins["smallest"] < 0.0 < margins["median"]
        assert margins["share_above"] == answer["accuracy"]


def test_json_is_for_machines(iris, tmp_path):
    model = tmp_path / "model"
    answer = told("train", iris, "-o", model, "--model", "svc")
    assert (answer["rows"], answer["columns"], answer["warnings"]) == (150, 4, [])
    proof = answer["proof"]["0 against 1"]
    assert proof["gap"] == pytest.approx(proof["primal"] - proof["dual"])
    assert 0.0 <= proof["relative"] <= 1e-3
    assert isinstance(answer["certificate"], str)
    about = told("info", model)
    assert (about["columns"], about["classes"]) == (4, [0, 1, 2])
    assert about["support_vectors"] == len(load(model).support_)
    assert about["proof"] == answer["proof"]
    assert told("evaluate", model, iris)["rows"] == 150
    lines = run("predict", model, iris, "--json", "--scores").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    machine, data = load(model), read_data(iris)
    assert [row["label"] for row in rows] == machine.predict(data.X).tolist()
    assert [row["scores"] for row in rows] == machine.decision_function(data.X).tolist()
    assert json.loads(run("predict", model, iris, "--json").stdout.splitlines()[0]) == {"label": 0}


def test_json_knows_no_infinities(cancer, tmp_path):
    run("train", cancer, "-o", tmp_path / "model")
    rows = tmp_path / "far.svm"
    rows.write_text("1 1:1e308 2:1e308 3:1e308 4:1e308 28:1e308\n")
    machine = load(tmp_path / "model")
    machine.coef_ = 1e10 * np.abs(machine.coef_)
    save(machine, tmp_path / "model")
    line = run("predict", tmp_path / "model", rows, "--json", "--scores").stdout
    assert json.loads(line) == {"label": 1, "scores": ["inf"]}


def test_all_fits_of_a_command_share_its_time(cancer, tmp_path, monkeypatch):
    limits, whole = [], LinearSVC.fit

    def noted(self, X, y):
        limits.append(self.max_time)
        return whole(self, X, y)

    monkeypatch.setattr(LinearSVC, "fit", noted)
    run("train", cancer, "-o", tmp_path / "model", "--max-time", 60, "--cv", 4)
    assert len(limits) == 5
    assert limits[0] <= 60 / 5
    assert sum(limits) >= 59
    assert load(tmp_path / "model").max_time == 60.0
    limits.clear()
    run("train", cancer, "-o", tmp_path / "model", "--max-time", 1e-9, "--cv", 2)
    assert all(0.0 < limit < 0.01 for limit in limits)


def test_an_undecided_separation_says_so(cancer, tmp_path):
    witness = tmp_path / "witness.npz"
    arguments = ["separate", cancer, "--max-time", "1e-9", "-o", witness]
    printed = run(*arguments, code=3).stdout
    assert "undecided" in printed
    assert "no witness" in printed
    answer = json.loads(run(*arguments, "--json", code=3).stdout)
    assert (answer["separable"], answer["written"]) == (None, None)
    assert not witness.exists()


def test_folds_are_shuffled_by_the_seed(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    rows, model = tmp_path / "sorted.svm", tmp_path / "model"
    order = np.argsort(y)
    write_svmlight(rows, X[order], y[order])
    options = ["train", rows, "-o", model, "--model", "linear-svr", "-C", 100, "--cv", 5]
    by_default, again, other = told(*options), told(*options, "--seed", 0), told(*options, "--seed", 1)
    name = "r2_cv"
    assert by_default[name]["mean"] > 0.3
    assert by_default[name] == again[name] != other[name]
    # Also of models that leave nothing to chance themselves.
    options[5:8] = ["ridge"]
    assert told(*options, "--seed", 0)[name] != told(*options, "--seed", 1)[name]


def test_names_of_models_and_kernels_are_completed():
    for words, expected in (("maxmargin train --model lin", "linear-svc"), ("maxmargin train --kernel r", "rbf")):
        environment = {"_MAXMARGIN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "3"}
        result = runner.invoke(app, [], env=environment, prog_name="maxmargin")
        assert expected in result.stdout.split()
