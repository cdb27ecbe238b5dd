"""The command, as a person at a terminal uses it."""

import json
import subprocess
import sys

from typer.testing import CliRunner

from maxmargin import __version__
from maxmargin.cli.app import app

runner = CliRunner()


def test_help_and_version():
    assert "demo" in runner.invoke(app, ["--help"]).output
    assert runner.invoke(app, ["--version"]).output.strip() == f"maxmargin {__version__}"
    assert "Example" in runner.invoke(app, ["demo", "--help"]).output
    assert runner.invoke(app, ["nothing"]).exit_code == 2


def test_the_package_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "maxmargin", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"maxmargin {__version__}"


def test_demo_shows_every_theorem_beside_its_run():
    result = runner.invoke(app, ["demo", "--json"])
    assert result.exit_code == 0, result.output
    tables = json.loads(result.stdout)
    assert len(tables["perceptrons"]) == 16
    assert tables["files"]["verified"]
    assert tables["files"]["tampered_refused"]
    assert tables["files"]["test_accuracy"] > 0.95
    for row in tables["support_vector_machines"]:
        assert row["status"] == "solved"
        assert row["dual_objective"] <= row["objective"] <= row["dual_objective"] * (1 + 1.01e-4)
        assert row["test_score"] > (0.3 if row["machine"] == "regression" else 0.9)
    for row in tables["perceptrons"]:
        assert row["status"] == "solved"
        assert row["updates"] <= row["bound"]
        assert 0 < row["margin_at_least"] <= row["largest_margin_at_most"]
        assert row["test_accuracy"] > 0.85


def test_demo_prints_a_table_that_fits_a_terminal():
    output = runner.invoke(app, ["demo"], env={"COLUMNS": "80"}).output
    assert all(len(line) <= 80 for line in output.splitlines())
    for word in ("updates", "bound", "margin", "at most", "accuracy", "kernel", "cancer", "gap", "regression"):
        assert word in output
