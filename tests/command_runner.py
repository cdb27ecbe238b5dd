"""The command, run within the process."""

import json

from typer.testing import CliRunner

from maxmargin.cli.app import app

runner = CliRunner()


def run(*arguments, code=0):
    """Run the command; return what it prints."""
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def told(*arguments):
    """Run the command with --json; return the object."""
    return json.loads(run(*arguments, "--json").stdout)
