"""What importing and starting costs, and that it works where nothing can be written."""

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin
from maxmargin.cli.models import LINEAR_MODELS
from maxmargin.files import read_data

FIT = """
import numpy as np
from maxmargin import Perceptron
X = np.random.default_rng(0).standard_normal((50, 3))
print(Perceptron(tol=None).fit(X, X[:, 0] > 0).status_)
"""


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_import_is_light():
    heavy = "numba matplotlib dask sklearn scipy numpy typer rich starlette uvicorn anywidget"
    result = run(f"import sys, maxmargin; print([name for name in '{heavy}'.split() if name in sys.modules])")
    assert result.stdout.strip() == "[]", result.stderr


def test_the_lectures_load_numpy_alone():
    heavy = "numba sklearn scipy matplotlib joblib"
    code = "import sys, maxmargin; maxmargin.lectures.Step"
    result = run(f"{code}; print([name for name in '{heavy}'.split() if name in sys.modules])")
    assert result.stdout.strip() == "[]", result.stderr


def test_names_are_listed_and_unknown_ones_refused():
    assert set(maxmargin.__all__) <= set(dir(maxmargin))
    result = run("import maxmargin; maxmargin.nothing")
    assert "has no attribute 'nothing'" in result.stderr
    for name in maxmargin.__all__:
        assert name == "__version__" or getattr(maxmargin, name).__name__ == name


def test_it_runs_where_no_cache_can_be_written():
    code = """
import numba.core.caching as caching
for locator in caching.CacheImpl._locator_classes:
    locator.from_function = classmethod(lambda cls, *arguments: None)
"""
    result = run(code + FIT)
    assert result.stdout.split() == ["solved"], result.stderr


@pytest.mark.slow
def test_the_second_process_loads_what_the_first_one_compiled(tmp_path):
    first = run(FIT, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.returncode == 0, first.stderr
    compiled = {path.name: path.stat().st_mtime_ns for path in Path(tmp_path).rglob("*.nbc")}
    assert compiled
    second = run(FIT, NUMBA_CACHE_DIR=str(tmp_path))
    assert second.stdout == first.stdout
    assert {path.name: path.stat().st_mtime_ns for path in Path(tmp_path).rglob("*.nbc")} == compiled


def test_the_command_imports_only_what_a_subcommand_uses():
    heavy = "numba sklearn scipy numpy pyarrow onnx safetensors matplotlib starlette uvicorn"
    result = run(f"import sys, maxmargin.cli.app; print([name for name in '{heavy}'.split() if name in sys.modules])")
    assert result.stdout.strip() == "[]", result.stderr


@pytest.mark.parametrize("machine", LINEAR_MODELS)
def test_training_from_the_shell_does_not_import_what_it_never_uses(tmp_path, machine):
    rows, model = tmp_path / "rows.svm", tmp_path / "model"
    rows.write_text("".join(f"{1 if k % 2 else -1} 1:{k} 2:{k % 5}\n" for k in range(40)))
    never = "sklearn pandas scipy.stats._distn_infrastructure scipy.optimize matplotlib"
    code = f"""
import sys
from maxmargin.cli.app import main
sys.argv = ["maxmargin", "train", {str(rows)!r}, "-o", {str(model)!r}, "-m", {machine!r}]
try:
    main()
except SystemExit as end:
    assert not end.code
print("loaded", [name for name in {never!r}.split() if name in sys.modules])
import pandas, scipy.stats
from sklearn.utils.fixes import _mode
print("later", round(scipy.stats.norm.cdf(0.0), 3), _mode([3, 3, 1]).mode, pandas.DataFrame is not None)
"""
    result = run(code)
    assert "loaded []" in result.stdout, result.stdout + result.stderr
    assert "later 0.5 [3] True" in result.stdout or "later 0.5 3 True" in result.stdout, result.stdout + result.stderr
    assert model.exists()


def test_a_model_is_the_same_with_and_without_scikit_learn(tmp_path):
    """The command's process has estimators on other bases: their files are those of the library."""
    rows, model = tmp_path / "rows.svm", tmp_path / "model"
    rows.write_text("".join(f"{k % 3} 1:{k} 2:{k % 5} 3:{(7 * k) % 11}\n" for k in range(90)))
    code = f"""
import sys
from maxmargin.cli.app import main
sys.argv = ["maxmargin", "train", {str(rows)!r}, "-o", {str(model)!r}, "-C", "0.3"]
try:
    main()
except SystemExit as end:
    assert not end.code
assert "sklearn" not in sys.modules
from maxmargin import LinearSVC
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import validate_data
assert is_classifier(LinearSVC()) and clone(LinearSVC(C=3.0)).C == 3.0
"""
    result = run(code)
    assert result.returncode == 0, result.stderr
    loaded = maxmargin.load(model)
    data = read_data(rows)
    again = maxmargin.LinearSVC(C=0.3, n_jobs=-1, random_state=0).fit(data.X, data.y)
    assert loaded.coef_.tobytes() == again.coef_.tobytes()
    assert loaded.get_params() == again.get_params()
    assert loaded.certificate_ == again.certificate_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-C", "-1"), "-C must be a number in (0, inf]; it is -1."),
        (("--tol", "nan"), "--tol must be a number in (0, inf); it is nan."),
        (("--tol", "inf"), "--tol must be a number in (0, inf); it is inf."),
        (("--max-iter", "0"), "--max-iter must be a whole number in [1, inf); it is 0."),
    ],
)
def test_parameters_are_refused_in_the_same_words_without_scikit_learn(tmp_path, options, message):
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n-1 1:2\n")
    command = [sys.executable, "-m", "maxmargin", "train", str(rows), "-o", str(tmp_path / "model"), *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert message in result.stderr


PACKAGES = ["maxmargin", *(f"maxmargin.{name}" for name in ("certificates", "estimators", "files", "plots"))]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_lazy_name_is_that_of_a_module(package):
    """Importing the module would replace the name in the package."""
    loaded = importlib.import_module(package)
    assert {module.name for module in pkgutil.iter_modules(loaded.__path__)}.isdisjoint(loaded._HOME_OF)
