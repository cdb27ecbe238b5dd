"""Where a model comes from: version, time, command, data."""

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from maxmargin import __version__
from maxmargin.files.compression import STANDARD_INPUT
from maxmargin.files.remote import is_address, local_or_address, open_binary, size_of_file

# Bytes that are hashed at a time.
PIECE = 1 << 20


def provenance_of(data: str | Path | None = None, **more: Any) -> dict[str, Any]:
    """What :func:`maxmargin.save` can write into a model file as ``provenance``.

    Parameters
    ----------
    data : str or Path, optional
        The file of the training rows: its name, size and SHA-256 are stated; of a store those of its manifest.
    **more : plain values
        Further entries, such as ``command`` or ``metrics``.

    Returns
    -------
    dict
    """
    found: dict[str, Any] = {"version": __version__, "time": datetime.now(UTC).isoformat(timespec="seconds")}
    if data is not None:
        found["data"] = _identity(data)
    return {**found, **more}


def _identity(data: str | Path) -> dict[str, Any]:
    if data == STANDARD_INPUT:
        return {"name": "standard input"}
    path = local_or_address(data)
    file = path if is_address(path) or not os.path.isdir(path) else Path(path, "manifest.json")
    digest = hashlib.sha256()
    with open_binary(file) as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return {"name": os.fspath(data), "size": size_of_file(file), "sha256": digest.hexdigest()}
