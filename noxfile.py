"""Tasks for developers: `nox -l` lists them, `nox` runs lint, tests and docs, `nox -s tests-3.12 -- -k perceptron` one.

A session makes its own virtual environment; `nox --no-venv` uses the current one.
"""

import nox

nox.needs_version = ">=2024.4"
nox.options.sessions = ["lint", "tests", "docs"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def install(session: nox.Session, *arguments: str) -> None:
    """Install into the session's environment; with --no-venv everything is there already."""
    if session.venv_backend != "none":
        session.install(*arguments)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run tests and doctests with the newest dependencies; arguments go to pytest."""
    install(session, "-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(python=PYTHONS[0], venv_backend="uv")
def minimum(session: nox.Session) -> None:
    """Run tests and doctests with the oldest dependencies that pyproject.toml allows."""
    install(session, "--resolution", "lowest-direct", "-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and types."""
    install(session, "-e", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site into docs/_build/html: warnings are errors, examples and notebooks run."""
    install(session, "-e", ".[docs]")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "docs/_build/html")
    session.run("python", "docs/check_links.py", "docs/_build/html")


@nox.session
def bench(session: nox.Session) -> None:
    """Run a benchmark: `nox -s bench -- linear_svm --quick`."""
    install(session, "-e", ".[bench]")
    session.run("python", "benchmarks/run.py", *(session.posargs or ["perceptron", "--quick"]))
