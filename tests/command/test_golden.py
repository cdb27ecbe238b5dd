"""Whole screens of the command: one file a case in ``golden``; see ``golden_cases.py``."""

import sys

import pytest

from golden_cases import FOLDER, Case, cases, differences


@pytest.mark.parametrize("name", cases())
def test_the_command_prints_what_the_case_says(name, tmp_path):
    case = Case.read(FOLDER / f"{name}.txt")
    if case.terminal and sys.platform == "win32":
        pytest.skip("there are no pseudo-terminals")
    found = differences(case, case.run(tmp_path))
    assert not found, "\n".join(found)
