"""Run scikit-learn's own tests with the estimators of this package in place of scikit-learn's.

    python tests/compat/run.py                  all modules
    python tests/compat/run.py test_svm         the modules with this name
    python tests/compat/run.py test_svm -k coef further arguments go to pytest
    python tests/compat/run.py --list           the failures, one a line, with the first line of their errors

Every estimator that has the name of one in ``sklearn.svm`` or ``sklearn.linear_model`` replaces it, in these packages
and before the test modules are imported. ``expected.toml`` lists the tests that are expected to fail, each with its
reason; those in its table ``pending`` may fail until what they need is built. The exit code is 0 where exactly the
expected tests fail, and no other one.
"""

import argparse
import collections
import fnmatch
import importlib
import inspect
import signal
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import sklearn

MODULES = (
    "svm/tests/test_svm.py",
    "svm/tests/test_sparse.py",
    "svm/tests/test_bounds.py",
    "linear_model/tests/test_perceptron.py",
    "linear_model/tests/test_logistic.py",
    "linear_model/tests/test_ridge.py",
    "linear_model/tests/test_coordinate_descent.py",
    "linear_model/tests/test_sparse_coordinate_descent.py",
    "tests/test_multiclass.py",
    "tests/test_calibration.py",
    "model_selection/tests/test_search.py",
    "model_selection/tests/test_validation.py",
    "ensemble/tests/test_bagging.py",
    "ensemble/tests/test_base.py",
    "ensemble/tests/test_stacking.py",
    "ensemble/tests/test_voting.py",
    "ensemble/tests/test_weight_boosting.py",
    "feature_selection/tests/test_from_model.py",
    "feature_selection/tests/test_rfe.py",
    "feature_selection/tests/test_sequential.py",
)
# A test that takes longer than so many seconds of processor time has failed.
LONGEST_TEST = 60
EXPECTED = Path(__file__).parent / "expected.toml"


class TestTooLongError(Exception):
    """A test took longer than ``LONGEST_TEST`` seconds of processor time."""


class Replacement:
    """A plugin of pytest: stop tests that take too long, and note which ones fail."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.errors: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Any:
        """Interrupt a test that takes too long."""

        def too_long(*_: Any) -> None:
            raise TestTooLongError(f"more than {LONGEST_TEST} s of processor time")

        signal.signal(signal.SIGPROF, too_long)
        signal.setitimer(signal.ITIMER_PROF, LONGEST_TEST)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """Note the error of a test, and the one before it: pytest.warns hides what was raised in its block."""
        if call.excinfo is not None:
            error, errors = call.excinfo.value, []
            while error is not None:
                errors.append(f"{type(error).__name__}: {error}".splitlines()[0])
                error = error.__cause__ or error.__context__
            self.errors[name_of(item.nodeid)] = ", after ".join(errors)
        return (yield)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note the outcome of a test."""
        name = name_of(report.nodeid)
        if report.failed:
            self.outcomes[name] = "failed"
        elif report.when == "call":
            self.outcomes.setdefault(name, report.outcome)


def name_of(nodeid: str) -> str:
    """The module, without its path, and the test."""
    return nodeid.rsplit("/", 1)[-1]


def replace_estimators() -> list[str]:
    """Put the estimators of this package in the place of scikit-learn's of the same name; return their names."""
    import maxmargin

    packages = [importlib.import_module(name) for name in ("sklearn.svm", "sklearn.linear_model")]
    # What else imports these classes does so now, and keeps scikit-learn's.
    for name in ("ensemble", "feature_selection", "model_selection", "calibration", "multiclass", "multioutput"):
        importlib.import_module(f"sklearn.{name}")
    replaced = []
    for name in maxmargin.__all__:
        for package in packages:
            if name in package.__all__:
                setattr(package, name, getattr(maxmargin, name))
                replaced.append(name)
    return replaced


def known_parameters_only() -> None:
    """Let a private function that tests call with all of ``get_params()`` take those that it knows.

    Parameters that only the estimators of this package have would end the test before it compares anything; None, no
    limit here, is scikit-learn's default.
    """
    module = importlib.import_module("sklearn.linear_model._logistic")
    function, limit = module._log_reg_scoring_path, module.LogisticRegression().max_iter
    known = set(inspect.signature(function).parameters)

    def with_known(*arguments: Any, **parameters: Any) -> Any:
        if parameters.get("max_iter", limit) is None:
            parameters["max_iter"] = limit
        return function(*arguments, **{name: value for name, value in parameters.items() if name in known})

    module._log_reg_scoring_path = with_known


def expected_differences() -> tuple[dict[str, str], dict[str, str]]:
    """Patterns of the names of tests that are expected to fail, with the reasons; and of those that may."""
    with EXPECTED.open("rb") as file:
        modules = tomllib.load(file)
    pending = modules.pop("pending", {})
    expected, may_fail = (
        {f"{module}::{pattern}": reason for module, tests in table.items() for pattern, reason in tests.items()}
        for table in (modules, pending)
    )
    return expected, may_fail


def matches(name: str, pattern: str) -> bool:
    """Whether a test has this name; ``*`` stands for anything, and a name without brackets for all parameters."""
    bare = name.split("[", 1)[0]
    return name == pattern or bare == pattern or fnmatch.fnmatchcase(name.replace("[", "("), pattern.replace("[", "("))


def main(arguments: list[str]) -> int:
    """Run the modules, and compare the failures with the expected ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="names of modules, for example test_svm; all if none")
    parser.add_argument("--list", action="store_true", help="print all failures, expected or not")
    parser.add_argument("--count", action="store_true", help="count the failures by their errors")
    options, more = parser.parse_known_args(arguments)
    chosen = [path for path in MODULES if not options.modules or Path(path).stem in options.modules]
    if not chosen:
        parser.error(f"no such module; there are {', '.join(sorted({Path(path).stem for path in MODULES}))}")
    folder = Path(sklearn.__file__).parent
    replaced, plugin = replace_estimators(), Replacement()
    known_parameters_only()
    print(f"scikit-learn {sklearn.__version__}; replaced: {', '.join(replaced)}", flush=True)
    fixed = ["-p", "no:cacheprovider", "-p", "no:doctest", "-c", "/dev/null", "--rootdir", str(folder)]
    fixed += ["-q", "--tb=no", "--no-summary", "--import-mode=importlib", "-W", "ignore", *more]
    pytest.main([*fixed, *(str(folder / path) for path in chosen)], plugins=[plugin])
    return report(plugin, chosen if not more else [], options)


def report(plugin: Replacement, modules: list[str], options: Any) -> int:
    """Print what differs from the expected failures; return the exit code."""
    expected, pending = expected_differences()
    failed = sorted(name for name, outcome in plugin.outcomes.items() if outcome == "failed")
    surprises = [name for name in failed if not any(matches(name, pattern) for pattern in (*expected, *pending))]
    if options.list:
        for name in failed:
            print(f"{name}\n    {plugin.errors[name]}")
    if options.count:
        for error, count in collections.Counter(plugin.errors.values()).most_common():
            print(f"{count:5d}  {error[:160]}")
    for name in surprises:
        print(f"UNEXPECTED {name}\n    {plugin.errors[name]}")
    names = {Path(path).name for path in modules}
    mended = [
        pattern
        for pattern in expected
        if pattern.split("::")[0] in names and not any(matches(name, pattern) for name in failed)
    ]
    for pattern in mended:
        print(f"NO LONGER FAILS {pattern}: remove it from {EXPECTED.name}")
    print(f"{len(plugin.outcomes)} tests, {len(failed)} fail, {len(failed) - len(surprises)} of them expected")
    return 1 if surprises or mended else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
