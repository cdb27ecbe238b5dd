"""``maxmargin plot`` and ``maxmargin train --plot``."""

import subprocess
import sys

import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import load_iris

from command_runner import app, run, runner, told

START = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plot")
    frame = load_iris(as_frame=True).frame
    frame["target"] = frame["target"].map({0: "setosa", 1: "versicolor", 2: "virginica"})
    frame.to_csv(folder / "iris.csv", index=False)
    frame[frame["target"] != "setosa"].to_csv(folder / "two.csv", index=False)
    run("train", folder / "two.csv", "--target", "target", "-o", folder / "two.model")
    run("train", folder / "iris.csv", "--target", "target", "-m", "svc", "-o", folder / "iris.model")
    return folder


@pytest.mark.parametrize("suffix", START)
def test_every_format_is_written(files, tmp_path, suffix):
    picture = tmp_path / f"picture{suffix}"
    answer = told("plot", files / "two.model", files / "two.csv", "--target", "target", "-o", picture)
    content = picture.read_bytes()
    assert content.startswith(START[suffix])
    assert answer["kind"] == "margin"
    assert "all 4 columns: f(x) is exact" in answer["shows"]
    assert not plt.get_fignums()
    run("plot", files / "two.model", files / "two.csv", "--target", "target", "-o", picture)
    assert picture.read_bytes() == content
    assert list(tmp_path.iterdir()) == [picture]


@pytest.mark.parametrize("columns", ["petal length (cm),petal width (cm)", "3,4", "pca"])
def test_columns_are_chosen_by_name_or_number(files, tmp_path, columns):
    picture = tmp_path / "regions.svg"
    answer = told(
        "plot", files / "iris.model", files / "iris.csv", "--target", "target", "-o", picture, "--columns", columns
    )
    assert answer["kind"] == "regions"
    assert ("principal components" if columns == "pca" else "the other 2 columns at their means") in answer["shows"]


@pytest.mark.parametrize("kind", ["regions", "used", "hulls", "losses", "coefficients"])
def test_every_kind_that_a_linear_model_has(files, tmp_path, kind):
    columns = ["--columns", "1,3"] if kind in ("regions", "used", "hulls") else []
    picture = tmp_path / "picture.png"
    run("plot", files / "two.model", files / "two.csv", "--target", "target", "-o", picture, "--kind", kind, *columns)
    assert picture.stat().st_size > 5000


def test_training_draws(files, tmp_path):
    model, picture = tmp_path / "m", tmp_path / "m.svg"
    answer = told("train", files / "two.csv", "--target", "target", "-o", model, "--plot", picture)
    assert answer["plot"]["picture"] == str(picture)
    assert picture.read_bytes().startswith(START[".svg"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "picture.bmp"], "-o picture.bmp must end with .png, .svg or .pdf"),
        (["-o", "no-folder/p.png"], "-o no-folder/p.png: the folder"),
        (["-o", "p.png", "--kind", "pie"], "--kind pie is none of regions"),
        (["-o", "p.png", "--kind", "bracket"], "margin bracket"),
        (["-o", "p.png", "--columns", "a,b"], "--columns has 'a'"),
        (["-o", "p.png", "--columns", "1"], "--columns must be two columns"),
        (["-o", "p.png", "--columns", "0,1"], "counted from 1"),
        (["-o", "p.png", "--columns", "1,9"], "columns"),
        (["-o", "p.png", "--kind", "losses", "--columns", "1,2"], "--columns has no effect"),
    ],
)
def test_errors_name_the_option(files, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    arguments = ["plot", files / "two.model", files / "two.csv", "--target", "target", *options]
    result = runner.invoke(app, list(map(str, arguments)))
    assert isinstance(result.exception, ValueError)
    assert words in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_extra_is_named_in_one_line(files, tmp_path):
    arguments = ["plot", files / "two.model", files / "two.csv", "--target", "target", "-o", tmp_path / "p.png"]
    code = f"""
import sys
sys.modules["matplotlib"] = None
from maxmargin.cli.app import main
sys.argv = {["maxmargin", *map(str, arguments)]!r}
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'maxmargin[plot]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
