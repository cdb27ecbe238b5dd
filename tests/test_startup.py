"""What importing and starting costs, and that it works where nothing can be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

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


def test_training_from_the_shell_does_not_import_what_it_never_uses(tmp_path):
    rows, model = tmp_path / "rows.svm", tmp_path / "model"
    rows.write_text("".join(f"{1 if k % 2 else -1} 1:{k} 2:{k % 5}\n" for k in range(40)))
    never = "pandas scipy.stats._distn_infrastructure scipy.optimize sklearn.metrics sklearn.model_selection matplotlib"
    code = f"""
import sys
from maxmargin.cli.app import main
sys.argv = ["maxmargin", "train", {str(rows)!r}, "-o", {str(model)!r}]
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
