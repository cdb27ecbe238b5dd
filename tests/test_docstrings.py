"""Docstrings of public names: numpydoc sections, and examples that show something."""

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import maxmargin
from maxmargin import files, lectures, plots


def _public_objects() -> Iterator[Any]:
    """Every public class and function, as a pytest parameter."""
    for module in (maxmargin, files, plots, lectures):
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                yield pytest.param(found, id=f"{module.__name__}.{name}")


PUBLIC = list(_public_objects())
DOCS = Path(__file__).parents[1] / "docs"
# The example stands with the function that raises, makes or writes them.
WITHOUT_EXAMPLE = {
    "CheckpointError",
    "Preparation",
    "UnseenWarning",
    "read_liblinear_model",
    "read_libsvm_model",
}


@pytest.mark.parametrize("found", PUBLIC)
def test_every_public_name_names_its_neighbours(found):
    assert "See Also\n--------" in inspect.getdoc(found)


@pytest.mark.parametrize("found", PUBLIC)
def test_every_public_name_has_an_example_that_shows_something(found):
    """Some example prints more than True: a reader sees what comes back."""
    if found.__name__ in WITHOUT_EXAMPLE:
        assert "Examples\n--------" not in inspect.getdoc(found), "take it off the list"
        return
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(found))
    assert examples
    shown = [example.want for example in examples if example.want]
    assert not shown or any(want.strip() not in ("True", "(True, True)") for want in shown)


@pytest.mark.parametrize("found", PUBLIC)
def test_docstrings_name_pages_by_references_that_resolve(found):
    """Pages of the site are no files for a reader of the site; where Sphinx cannot find one, the build fails."""
    members = [found, *vars(found).values()] if inspect.isclass(found) else [found]
    for doc in filter(None, map(inspect.getdoc, members)):
        assert "docs/" not in doc
        for page in re.findall(r":doc:`(?:[^`<]*<)?/([^`>]+)>?`", doc):
            assert (DOCS / f"{page}.md").exists(), page


@pytest.mark.parametrize("found", [parameter for parameter in PUBLIC if hasattr(parameter.values[0], "fit")])
def test_every_estimator_documents_problem_parameters_attributes_and_certificate(found):
    doc = inspect.getdoc(found)
    for section in ("Parameters", "Attributes", "References", "Examples"):
        assert f"{section}\n{'-' * len(section)}" in doc, section
    assert ".. math::" in doc, "the problem as a formula"
    attributes = doc[doc.index("Attributes\n---") :]
    assert "certificate_" in attributes, "what is proven"


@pytest.mark.parametrize("found", [parameter for parameter in PUBLIC if hasattr(parameter.values[0], "fit")])
def test_the_docstring_describes_the_parameters_that_an_estimator_has(found):
    """No parameter is missing, none is described that does not exist, and every shared block is filled in."""
    doc = inspect.getdoc(found)
    section = doc[doc.index("Parameters\n---") : doc.index("\nAttributes\n---")]
    described = [
        name.strip()
        for line in section.splitlines()
        if " :" in line and line[:1].isidentifier()
        for name in line.split(" :")[0].split(",")
    ]
    assert sorted(described) == sorted(found._get_param_names())
