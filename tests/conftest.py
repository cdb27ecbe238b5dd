"""Settings of the whole suite."""

import ast
import getpass
import hashlib
import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# Pictures are drawn without a screen; set before matplotlib is imported, also by the processes that tests start.
os.environ["MPLBACKEND"] = "Agg"

# Every machine tests the same examples; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# A shell that starts the suite in the background has it ignore Ctrl-C, which tests send to themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Editing one file does not invalidate loops that were compiled from another: the cache is keyed by the code, without
# docstrings and comments, of all loops and of the modules whose NamedTuples they take.
_PACKAGE = Path(__file__).parents[1] / "src" / "maxmargin"
_SOURCES = [
    *sorted((_PACKAGE / "loops").rglob("*.py")),
    _PACKAGE / "data" / "rows.py",
    _PACKAGE / "problems" / "linear_svm.py",
]


def _code(path: Path) -> str:
    """The syntax tree of a module without its docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body.pop(0)
    return ast.dump(tree)


_digest = hashlib.sha256("".join(map(_code, _SOURCES)).encode()).hexdigest()[:16]
os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"maxmargin-tests-{getpass.getuser()}-{_digest}")


@pytest.fixture(autouse=True, scope="session")
def _saved_models_are_true():
    """Whatever model a test saves together with its data: the independent checker finds nothing in it false."""
    from checker_cases import refuse_false_claims
    from maxmargin.files import model

    write = model._to_bytes

    def checked(fitted, entry, data, sample_weight, *others):
        content = write(fitted, entry, data, sample_weight, *others)
        if data is not None:
            refuse_false_claims(content, data, sample_weight)
        return content

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "_to_bytes", checked)
        yield
