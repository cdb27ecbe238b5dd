"""Imports point downwards only, also through others, and only where the design says."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "maxmargin"

# From the top to the bottom: a layer may import itself and what stands below it.
LAYERS = [
    "__main__",
    "cli",
    "lab",
    "plots",
    "files",
    "estimators",
    "lectures",
    "separability",
    "reconciliation",
    "solvers",
    "certificates",
    "engine",
    "problems",
    "loops",
    "data",
    "_process",
    "_lazy",
]
# Modules at the bottom that documents leave out.
SMALL = {"__main__", "_process", "_lazy"}
# Layers that must not be reached from a layer, by any chain of imports. Certificates are solver-blind and loop-free;
# solvers do not judge their own results.
UNREACHABLE = {
    "certificates": {"loops", "solvers"},
    "engine": {"loops"},
    "problems": {"loops"},
    "solvers": {"certificates"},
}


def module_of(path):
    """The name of a file's module within the package; "" for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
MODULES = [path for path in PATHS.values() if path != PACKAGE / "__init__.py"]


def layer_of(module):
    return module.split(".")[0]


def imported_modules(path):
    """All modules that a file imports, at any depth of its code, with their whole names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} uses a relative import"
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@cache
def imports_within(module):
    """The modules of the package that a module imports, without the packages that Python loads on the way."""
    named = (name.removeprefix("maxmargin.") for name in imported_modules(PATHS[module]) if name != "maxmargin")
    return sorted({name for name in named if name in PATHS} - {module, ""})


@cache
def loaded_by(module):
    """What importing a module executes: its own imports, and the packages around each of them."""
    loaded = set()
    for name in imports_within(module):
        parts = name.split(".")
        loaded |= {".".join(parts[: k + 1]) for k in range(len(parts))}
    return loaded - {module}


def chain_to(module, layers):
    """The shortest chain of imports from a module to one of the layers, or None."""
    chains, seen = [(module,)], {module}
    while chains:
        chain = chains.pop(0)
        for name in sorted(loaded_by(chain[-1]) - seen):
            if layer_of(name) in layers:
                return (*chain, name)
            seen.add(name)
            chains.append((*chain, name))
    return None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path):
    layer = LAYERS.index(layer_of(module_of(path)))
    for module in imports_within(module_of(path)):
        assert LAYERS.index(layer_of(module)) >= layer, f"{path.relative_to(PACKAGE)} imports {module}"


def test_the_documents_show_the_layers_in_this_order():
    root, layers = PACKAGE.parents[1], [layer for layer in LAYERS if layer not in SMALL]
    assert {layer_of(module) for module in PATHS if module} <= set(LAYERS)
    rules = (root / "CONTRIBUTING.md").read_text().partition("## The layers")[2]
    block = re.search(r"```\n(.*?)```", rules, flags=re.DOTALL).group(1)
    assert re.findall(r"^(\w+) ", block, flags=re.MULTILINE) == layers
    drawn = re.findall(r'y="(\d+)" font-weight="600"[^>]*>(\w+)<', (root / "docs/_static/layers.svg").read_text())
    assert [name for _, name in sorted(drawn, key=lambda text: int(text[0]))] == layers
    assert len({height for height, _ in drawn}) == len(layers)


@pytest.mark.parametrize("layer", UNREACHABLE)
def test_no_chain_of_imports_leads_where_it_must_not(layer):
    chains = [chain_to(module, UNREACHABLE[layer]) for module in PATHS if layer_of(module) == layer]
    assert not [" -> ".join(chain) for chain in chains if chain]


def test_a_chain_of_imports_is_found():
    """The search itself: estimators reach the loops through the solvers only."""
    chain = chain_to("estimators.svc", {"loops"})
    assert chain[0] == "estimators.svc"
    assert layer_of(chain[-1]) == "loops"
    assert "solvers" in {layer_of(module) for module in chain}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_loops_use_numba(path):
    uses_numba = any(module.split(".")[0] == "numba" for module in imported_modules(path))
    assert not uses_numba or layer_of(module_of(path)) == "loops"


def test_the_lectures_import_only_numpy_and_the_standard_library():
    names = {
        name for path in PATHS.values() if layer_of(module_of(path)) == "lectures" for name in imported_modules(path)
    }
    others = {name for name in names if name.split(".")[0] not in sys.stdlib_module_names}
    assert all(name.split(".")[0] == "numpy" or name.startswith("maxmargin.lectures") for name in others), others


# What the plots may import of the package: models, proofs and algorithms, checked data, and atomic writing of files.
BELOW_PLOTS = {"certificates", "data", "estimators", "files.atomic", "lectures", "separability", "_lazy", "plots"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_plots_stand_alone(path):
    """Only the plots import matplotlib, and by one module; they see no solver; only the command imports them."""
    module, imported = module_of(path), set(imported_modules(path))
    uses_matplotlib = any(name.split(".")[0] in ("matplotlib", "PIL") for name in imported)
    assert not uses_matplotlib or module == "plots._matplotlib"
    if layer_of(module) == "plots":
        others = [name for name in imports_within(module) if not {name, layer_of(name)} & BELOW_PLOTS]
        assert not others
    elif layer_of(module) != "cli":
        assert not [name for name in imported if name.startswith("maxmargin.plots")]


def test_the_command_imports_the_plots_only_inside_of_functions():
    for path in MODULES:
        if layer_of(module_of(path)) != "cli":
            continue
        at_the_top = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
        assert not [node.module for node in at_the_top if node.module.startswith("maxmargin.plots")]


def test_only_one_module_asks_for_the_compiler():
    users = [path.name for path in MODULES if "numba.njit" in set(imported_modules(path))]
    assert users == ["jit.py"]


def test_only_validation_calls_the_checks_of_scikit_learn():
    checks = {"validate_data", "check_array", "check_X_y", "_check_sample_weight"}

    def uses(path):
        names = {module.rsplit(".", 1)[-1] for module in imported_modules(path) if "sklearn" in module}
        nodes = ast.walk(ast.parse(path.read_text()))
        return checks & (names | {node.attr for node in nodes if isinstance(node, ast.Attribute)})

    assert {path.name for path in MODULES if uses(path)} == {"validation.py"}


def test_warnings_go_through_the_function_that_finds_the_users_line():
    """The command has no user's code below it; it prints its warnings."""
    users = {module for module, path in PATHS.items() if "warnings.warn(" in path.read_text()}
    assert {module for module in users if layer_of(module) != "cli"} == {"data.user_warnings"}


def test_linear_models_take_the_classes_of_scikit_learn_from_one_module():
    """The command trains one without scikit-learn: no import at the top of a module may ask for it."""
    reached, waiting = set(), ["estimators.linear_svc", "estimators.linear_svr", "estimators.logistic_regression"]
    waiting += ["estimators.ridge", "estimators.elastic_net", "estimators.perceptron", "estimators.margin_perceptron"]
    waiting += ["files.model", "files.data_file"]
    while waiting:
        module = waiting.pop()
        if module in reached or module not in PATHS:
            continue
        reached.add(module)
        body = ast.parse(PATHS[module].read_text()).body
        at_the_top = [node.module for node in body if isinstance(node, ast.ImportFrom)]
        at_the_top += [name.name for node in body if isinstance(node, ast.Import) for name in node.names]
        assert not [name for name in at_the_top if name.startswith(("sklearn", "pandas"))], module
        waiting += [name.removeprefix("maxmargin.") for name in at_the_top]
    assert "data.scikit_learn" in reached


def constants_of(module):
    """The constants that a module assigns, as source; without places in arrays, which are counted by ``range``."""
    for node in ast.parse(PATHS[module].read_text()).body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=True) if isinstance(node.value, ast.Tuple) else []
            for name, value in pairs:
                if isinstance(name, ast.Name) and name.id.isupper():
                    yield name.id, ast.unparse(value)


def test_constants_that_modules_share_have_a_name_of_their_own():
    """A constant that another module imports has one name and one value: else a reader takes one for the other."""
    values = {}
    for module in PATHS:
        for name, value in constants_of(module):
            values.setdefault(name, {})[module] = value
    imported = {
        tuple(name.removeprefix("maxmargin.").rsplit(".", 1))
        for module in PATHS
        for name in imported_modules(PATHS[module])
        if name.startswith("maxmargin.") and name.count(".") > 1
    }
    shared = {name for module, name in imported if module in values.get(name, {})}
    assert len(shared) > 100
    assert not {name: values[name] for name in shared if len(set(values[name].values())) > 1}


# The only modules of the strictly typed layers that may name Any, and what it stands for there.
ANY = {
    "data.array_types": "UserArray: what a user gives as X, y or weights",
    "data.scikit_learn": "the functions of scikit-learn, which has no types",
    "engine.executors": "DaskObject: clients, futures and collections of Dask, whose types say nothing of their values",
}


def names_any(path):
    """Whether a file names typing's Any; a string that names it needs the import, too."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imported = {name.name for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names}
    return "Any" in imported or any(isinstance(node, ast.Attribute) and node.attr == "Any" for node in nodes)


def test_bare_any_stands_only_where_values_are_not_ours():
    strict = {"data", "problems", "certificates", "solvers", "engine", "reconciliation"}
    found = {module for module, path in PATHS.items() if layer_of(module) in strict and names_any(path)}
    assert found == set(ANY)
