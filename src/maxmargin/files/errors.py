"""The error of model files."""

import os


class ModelFileError(ValueError):
    """A model file is invalid, or a model cannot be written; states the file, the line of a text file, and the reason.

    Parameters
    ----------
    path : str or path
    reason : str
    line : int, optional
        The number of the line, from 1, for formats that are text.

    See Also
    --------
    load, save : Raise this.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin import ModelFileError, load
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "no.model").write_bytes(b"something else")
    ...     try:
    ...         load(Path(folder, "no.model"))
    ...     except ModelFileError as error:
    ...         print("refused")
    refused
    """

    def __init__(self, path: str | os.PathLike[str], reason: str, line: int | None = None) -> None:
        where = os.fspath(path) if line is None else f"{os.fspath(path)}, line {line}"
        super().__init__(f"{where}: {reason}")
        self.path, self.reason, self.line = os.fspath(path), reason, line

    def __reduce__(self) -> tuple[type, tuple[str, str, int | None]]:
        return type(self), (self.path, self.reason, self.line)
