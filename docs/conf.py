"""Settings of the documentation site; ``nox -s docs`` builds it into docs/_build/html, without a network."""

import os
import sys
from pathlib import Path

# Kernels of the notebooks choose the backend that puts figures into the page.
os.environ.pop("MPLBACKEND", None)
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import maxmargin

project = "maxmargin"
author = "The maxmargin developers"
copyright = f"2026, {author}"  # noqa: A001
version = release = maxmargin.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "replay_directive",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*/*.ipynb"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static", "replays"]
html_css_files = ["site.css"]
html_title = f"maxmargin {release}"
html_show_sourcelink = False
html_sidebars = {"start": [], "questions": []}  # pages without pages below them
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "icon_links": [{"name": "Source", "url": "https://github.com/maxmargin/maxmargin", "icon": "fa-brands fa-github"}],
    "footer_start": ["copyright"],
    "footer_end": [],
}

# Markdown: formulas between dollar signs, and links to headings as on GitHub.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# Notebooks run at every build; an error in one fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

# Every public name has a page of its own, made from its docstring.
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = True
numpydoc_show_inherited_class_members = {"maxmargin.Status": False, "maxmargin.solvers.core.status.Status": False}
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py",
    "ignore_pattern": r"lab_|on_a_cluster",  # programs of their own: they write pictures, or start a cluster
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 10**6,
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),  # figures and what is printed, not the values of last expressions
    "reset_argv": "gallery_arguments.arguments_of",
}

suppress_warnings = ["config.cache"]
# A reference to a name that has no page is a warning, but for modules, which are parts of one page, and names of
# scikit-learn, whose site is not asked.
nitpicky = True
nitpick_ignore_regex = [("py:mod", r"maxmargin\..*"), ("py:.*", r"sklearn\..*")]
