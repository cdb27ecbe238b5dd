"""Files are written whole or not at all."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from maxmargin import (
    SVC,
    LinearSVC,
    load,
    save,
)
from maxmargin.files.atomic import written_atomically
from model_file_cases import CODES, X

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")


def interrupted(path):
    with written_atomically(path) as file:
        file.write(b"half of")
        raise KeyboardInterrupt


def test_an_error_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    save(LinearSVC().fit(X, CODES), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(OSError, match="No space left"):
                save(SVC().fit(X, CODES), path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


CRASH = """
import os, sys, numpy as np
from maxmargin import LinearSVC, save
model = LinearSVC().fit(np.random.default_rng(0).standard_normal((500, 3)), np.arange(500) % 2)
save(model, sys.argv[1])
print(len(open(sys.argv[1], "rb").read()), flush=True)
{crash}
save(model.set_params(C=2.0), sys.argv[1])
"""


CRASHES = {
    "before it takes its place": "os.replace = lambda *_: os._exit(1)",
    "in the middle of writing": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))",
}


@pytest.mark.parametrize("crash", list(CRASHES))
def test_a_crash_leaves_the_old_file(crash, tmp_path):
    path = tmp_path / "model"
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CRASH.format(crash=CRASHES[crash]), str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 1, run.stderr
    assert int(run.stdout) == len(path.read_bytes()) > 3000
    assert load(path).C == 1.0
    if "middle" in crash:
        assert "File too large" in run.stderr
        assert list(tmp_path.iterdir()) == [path]


def test_atomic_writing_keeps_links_and_modes(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    with written_atomically(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    with pytest.raises(OSError, match="directory"), written_atomically(tmp_path) as file:
        file.write(b"new")
    with written_atomically(os.devnull) as file:
        file.write(b"nothing")
    assert not Path(os.devnull).is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]
