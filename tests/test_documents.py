"""The README, the docs and the examples say what is true."""

import doctest
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).parents[1]
DOCS = ("api", "benchmarks", "guide", "internals", "notebooks")


@pytest.mark.parametrize("document", ["README.md", "docs/lectures.md"])
def test_the_document_prints_what_it_says(document):
    result = doctest.testfile(str(ROOT / document), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 5
    assert result.failed == 0


def documents():
    """Return all Markdown files that the project ships, relative to its root."""
    folders = (".", ".github", ".github/ISSUE_TEMPLATE", "benchmarks", "docs", *(f"docs/{name}" for name in DOCS))
    return sorted(str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).glob("*.md"))


def text_of(document):
    """Return a document without its code blocks, in which a '#' is a comment and a bracket no link."""
    return re.sub(r"^```.*?^```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def headings_of(document):
    """Return the headings of a document."""
    return re.findall(r"^#+ +(.+?) *$", text_of(document), flags=re.MULTILINE)


def anchor_of(heading):
    """Return the anchor that GitHub and MyST make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("document", documents())
def test_links_resolve(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(document)):
        if re.match(r"[a-z]+:", link):  # another site, which is not asked
            continue
        file, _, anchor = link.partition("#")
        target = (ROOT / document).parent / file if file else ROOT / document
        if target.parent.name == "gallery":  # made from the example of that name when the site is built
            target = ROOT / "examples" / f"{target.stem}.py"
        assert target.exists(), link
        if anchor:
            target_document = str(target.resolve().relative_to(ROOT.resolve()))
            assert anchor in {anchor_of(heading) for heading in headings_of(target_document)}, link


def test_the_readme_repeats_the_figures_of_the_benchmarks():
    rows = re.findall(r"\*\*([\d.]+)\*\* \|.*\((docs/benchmarks/\w+\.md)\)", text_of("README.md"))
    assert len(rows) == 4
    for ratio, page in rows:
        assert re.search(rf"geometric mean (?:is )?{re.escape(ratio)}\b", text_of(page)), (ratio, page)


def test_broken_links_of_a_site_are_found(tmp_path):
    spec = importlib.util.spec_from_file_location("check_links", ROOT / "docs" / "check_links.py")
    check_links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check_links)
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="a b">x</h1><a href="#a%20b">y</a><a href="sub/">z</a><a href="https://example.org/#no">w</a>'
    )
    (tmp_path / "sub" / "index.html").write_text('<a href="../index.html#a%20b">x</a>')
    assert check_links.broken_links(tmp_path) == []
    (tmp_path / "sub" / "index.html").write_text('<a href="../index.html#b">x</a><iframe src="no.html"></iframe>')
    assert check_links.broken_links(tmp_path) == [
        "sub/index.html: ../index.html#b: there is no such anchor",
        "sub/index.html: no.html: there is no such file",
    ]


@pytest.mark.parametrize("document", ["docs/theory.md", "docs/glossary.md", "docs/certificates.md", "docs/lectures.md"])
def test_anchors_are_unique(document):
    anchors = [anchor_of(heading) for heading in headings_of(document)]
    assert len(anchors) == len(set(anchors))


@pytest.mark.parametrize("document", ["README.md", *(name for name in documents() if name.startswith("docs/"))])
def test_theorems_are_called_by_their_names(document):
    labels = re.findall(r"\b(?:theory|theorem) [A-F]\d+\b|\([A-F]\d{1,2}\)", text_of(document))
    assert not labels


def test_docstrings_refer_to_sections_that_exist():
    headings = {heading.lower() for heading in headings_of("docs/theory.md")}
    for path in (ROOT / "src").rglob("*.py"):
        text = " ".join(path.read_text(encoding="utf-8").split())
        for named in re.findall(r"docs/theory\.md, (?:section )?[\"']?([^)\"]+?)[\"']?[).]", text):
            assert named.lower() in headings, f"{path.name}: {named}"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_call_theorems_by_their_names(path):
    assert not re.findall(r"\b(?:theory |theorem |\")[A-F]\d+\b", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [name for name in maxmargin.__all__ if name != "__version__"])
def test_every_public_name_is_documented(name):
    text = inspect.getdoc(getattr(maxmargin, name))
    assert text
    assert text.splitlines()[0].endswith(".")


@pytest.mark.parametrize("module", ["maxmargin", "maxmargin.files", "maxmargin.lectures", "maxmargin.plots"])
def test_the_reference_lists_every_public_name(module):
    reference = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w+)$", reference, flags=re.MULTILINE))
    assert set(importlib.import_module(module).__all__) - {"__version__"} <= listed


def test_the_modules_that_formulas_name_exist():
    named = re.findall(r"`([a-z_/]+\.py)`", (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "src" / "maxmargin" / name).exists()] == []


@pytest.mark.parametrize("name", maxmargin.lectures.__all__)
def test_every_public_name_of_the_lectures_is_documented(name):
    assert inspect.getdoc(getattr(maxmargin.lectures, name)).splitlines()[0].endswith(".")
    assert f"`{name}" in (ROOT / "docs" / "lectures.md").read_text(encoding="utf-8")


def lines_of_example(name):
    """The lines that an example prints, without its heading."""
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return run.stdout.splitlines()[1:]


def test_the_worst_ratio_to_each_bound_is_below_one():
    rows = [line[42:].split() for line in lines_of_example("theorems")]
    assert len(rows) == 6
    assert all(0 < float(row[2]) <= 1 for row in rows)


def test_the_accelerated_perceptron_stays_below_its_theorem():
    rows = [[float(value) for value in line.split()] for line in lines_of_example("accelerated_perceptron")]
    assert len(rows) == 12
    for _, _, updates, most_updates, passes, most_passes, to_half, *_ in rows:
        assert updates <= most_updates
        assert passes <= most_passes
        assert to_half >= passes
    narrow, wide = rows[:6], rows[6:]
    # Ten times as small a margin takes the smooth perceptron about ten times as many passes at most, not a hundred.
    for rows_of_width in (narrow, wide):
        assert rows_of_width[-1][4] <= 20 * rows_of_width[-3][4]
    # What the example says of its picture: the cost of both algorithms in row operations.
    cheaper = [[online < smooth for *_, online, smooth, _ in part] for part in (narrow, wide)]
    assert cheaper == [[True] * 6, [True] * 5 + [False]]


def test_each_objective_is_smallest_at_the_hyperplane_that_minimises_it():
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "three_losses.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    table = [line[24:].split() for line in run.stdout.splitlines()[1:4]]
    perceptron, hinge, logistic = [[float(value) for value in row[:4]] for row in table]
    assert hinge[2] < min(perceptron[2], logistic[2])
    assert logistic[3] < min(perceptron[3], hinge[3])
