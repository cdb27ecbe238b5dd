"""The command's checkpoints: ``train --checkpoint``, killed, and ``--resume``."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from command_runner import run, told

FIT = ("--solver", "coordinate", "--tol", "1e-9", "-C", "100", "--seed", "1")


def without_time(path):
    """The bytes of a model file without the time of the day in it, and without the checksum, which depends on it."""
    found, n_times = re.subn(rb'time\\",\\"[-+:T0-9]+', b"", path.read_bytes())
    assert n_times == 1
    return re.sub(rb"[0-9a-f]{64}", b"", found, count=1)


@pytest.mark.slow
def test_a_killed_command_goes_on_with_the_same_bits(cancer, tmp_path):
    file = tmp_path / "run.checkpoint"
    command = [sys.executable, "-m", "maxmargin", "train", cancer, "-o", tmp_path / "killed", *FIT]
    process = subprocess.Popen([*map(str, command), "--checkpoint", str(file), "--every", "0"])
    deadline = time.monotonic() + 60.0
    # The first checkpoint holds no state yet.
    while (
        process.poll() is None
        and time.monotonic() < deadline
        and not (file.exists() and b"ascent.w" in file.read_bytes())
    ):
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed").exists()
    told("train", cancer, "-o", tmp_path / "resumed", *FIT, "--resume", file)
    told("train", cancer, "-o", tmp_path / "whole", *FIT)
    assert without_time(tmp_path / "resumed") == without_time(tmp_path / "whole")


def test_options_of_checkpoints_are_honoured_or_refused(cancer, tmp_path):
    file, fit = tmp_path / "run.checkpoint", ("train", cancer, "-o", tmp_path / "model", "-C", "1")
    for options, reason in [
        (("--every", "5m"), "--every needs --checkpoint"),
        (("--checkpoint", file, "--every", "soon"), "30s, 5m or 1h"),
        (("--checkpoint", file, "--resume", tmp_path / "other"), "two files"),
        (("--checkpoint", tmp_path / "model"), "another file"),
        (("--resume", file), "no such file"),
        (("--checkpoint", file, "--scheduler", "local"), "no checkpoints"),
    ]:
        assert reason in str(run(*fit, *options, code=1).exception)
    told(*fit, "--checkpoint", file, "--resume", file, "--every", "1h")
    told(*fit, "--resume", file)
    other = run("train", cancer, "-o", tmp_path / "model", "-C", "2", "--resume", file, code=1)
    assert "C=1.0, not 2.0" in str(other.exception)
