"""Imports point downwards only, and only where the design says."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "maxmargin"

# From the top to the bottom: a layer may import itself and what stands below it.
LAYERS = [
    "__main__",
    "cli",
    "lab",
    "plots",
    "distributed",
    "files",
    "estimators",
    "separability",
    "solvers",
    "engine",
    "certificates",
    "problems",
    "loops",
    "data",
    "_lazy",
]
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def layer_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path):
    """All modules that a file imports, at any depth, with their whole names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} uses a relative import"
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path):
    layer = LAYERS.index(layer_of(path))
    for module in imported_modules(path):
        parts = module.split(".")
        if parts[0] == "maxmargin" and len(parts) > 1 and parts[1] in LAYERS:
            assert LAYERS.index(parts[1]) >= layer, f"{path.relative_to(PACKAGE)} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_loops_use_numba_and_certificates_use_no_loops(path):
    modules = set(imported_modules(path))
    uses_numba = any(module.split(".")[0] == "numba" for module in modules)
    assert not uses_numba or layer_of(path) == "loops"
    if layer_of(path) == "certificates":
        assert not any(module.startswith("maxmargin.loops") for module in modules)


def test_only_one_module_asks_for_the_compiler():
    users = [path.name for path in MODULES if "numba.njit" in set(imported_modules(path))]
    assert users == ["jit.py"]


def test_only_validation_calls_the_checks_of_scikit_learn():
    checks = {"validate_data", "check_array", "check_X_y", "_check_sample_weight"}
    users = {
        path.name
        for path in MODULES
        if any(module.rsplit(".", 1)[-1] in checks for module in imported_modules(path) if "sklearn" in module)
    }
    assert users == {"validation.py"}
