"""Settings of the whole suite."""

import getpass
import hashlib
import os
import tempfile
from pathlib import Path

# Editing one file does not invalidate loops that were compiled from another: key the cache by all sources.
_sources = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))
_digest = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:16]
os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"maxmargin-tests-{getpass.getuser()}-{_digest}")
