"""Checkpoints of fits: safetensors files with the declared states of the solvers' runs, as the model files are built.

``solvers/core/checkpoint.py`` says what a state is and how a run continues from it. A file belongs to one fit: it names
the version, the estimator and its parameters, and has hashes of the data and of where the fit began. Any other fit
refuses it. Reading a file runs no code of it.
"""

import errno
import hashlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors import SafetensorError

from maxmargin import __version__
from maxmargin.certificates import InfeasibleError
from maxmargin.data.partitions import PartitionedData
from maxmargin.data.scikit_learn import is_classifier
from maxmargin.data.user_warnings import warn_user
from maxmargin.files.atomic import written_atomically
from maxmargin.files.container import CHECKSUM, Tensor, check_sum, content_of, pack, tensors_of
from maxmargin.files.fingerprint import hash_of, hash_of_rows
from maxmargin.files.model import check_storable
from maxmargin.files.values import decode, encode
from maxmargin.files.verification import check_model
from maxmargin.solvers.core.checkpoint import BROKEN_OFF, CheckpointError, Stage, TaskRecord, active_record
from maxmargin.solvers.core.status import Status

FORMAT, VERSION = "maxmargin checkpoint", 1
CONTENT = (CHECKSUM, "format", "version", "maxmargin", "fit", "seed", "finished", "attempts", "column_major")
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "U32": "<u4", "BOOL": "?"}
# Parameters on which the bits of a fit do not depend.
OTHER_PARAMETERS = ("max_time", "n_jobs", "verbose")
# Fields of a solver's options that are no options of the user's.
OTHER_OPTIONS = ("seed", "n_threads", "columns", "gram")
# Of the time between two checkpoints, writing takes at most one part in so many, however large they are.
PARTS_TO_WRITE = 50.0
# A disk that is full may have room later; any other error at the first checkpoint is one of the path.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def checkpoints(path: str | os.PathLike[str], *, every: float = 60.0, resume: bool | str = False) -> Iterator[None]:
    """Write checkpoints of the fit in this block, from which a later process can continue.

    A fit that was killed and resumed ends with the same model and certificate, bit for bit, as one that was neither
    killed nor checkpointed. It has to be a fit of the same data with the same parameters; ``max_time``, which counts
    anew, ``n_jobs`` and ``verbose`` may differ. The block holds one ``fit`` of one estimator of this package, alone or
    in a pipeline; where no fit runs in this process, as in a search with worker processes, it warns.

    Parameters
    ----------
    path : str or path
        The file, which each checkpoint replaces when it is complete. A disk that is full does not end the fit.
    every : float, default=60.0
        Seconds between two checkpoints, or more where writing would take more than 2 % of the time; 0 for one after
        every step.
    resume : bool or "auto", default=False
        True continues from the file; "auto" does where there is one. With False, a file of a fit that has not ended is
        not overwritten.

    Raises
    ------
    CheckpointError
        Where the file is damaged, or a checkpoint of another fit.

    See Also
    --------
    save : The file of a finished model.
    CheckpointError : Raised where a file does not belong to the fit.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_digits
    >>> from maxmargin import LinearSVC, checkpoints
    >>> X, y = load_digits(return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "digits.checkpoint")
    ...     with checkpoints(file, every=60):
    ...         model = LinearSVC().fit(X, y)
    ...     with checkpoints(file, resume=True):  # as after a crash: the rest of the fit, here nothing
    ...         again = LinearSVC().fit(X, y)
    >>> float(abs(again.coef_ - model.coef_).max())  # the same bits
    0.0
    """
    if not (isinstance(every, (int, float)) and 0.0 <= every < float("inf")):
        raise ValueError(f"every must be a number of seconds, 0 or more; it is {every!r}.")
    if resume not in (True, False, "auto"):
        raise ValueError(f"resume must be True, False or 'auto'; it is {resume!r}.")
    record = FileRecord(os.fspath(path), float(every), resume)
    token = active_record.set(record)
    try:
        yield
    finally:
        active_record.reset(token)
    if not record.has_begun:
        warn_user(f"No fit of this process took the checkpoint {path}: nothing was written.", UserWarning)


class FileRecord:
    """The checkpoint of one fit, in a file.

    Parameters
    ----------
    path : str
    every : float
    resume : bool or "auto"
    """

    def __init__(self, path: str, every: float, resume: bool | str) -> None:
        self._path, self._every = path, every
        self.has_begun = False
        self._loaded = _read(path) if resume is True or (resume == "auto" and os.path.exists(path)) else None
        if resume is False:
            _refuse_unfinished(path)
        self._content: dict[str, Any] = {}
        # The stages of every task, by attempt.
        self._attempts: list[dict[int, TaskRecord]] = []
        self._lock = threading.Lock()
        self._written_at = -np.inf
        self._interval = every
        self._has_warned = False

    def begin(self, model: Any, data: Any, starts: Sequence[Any], options: Any) -> Any:
        """Refuse another fit's checkpoint, or write the first one; return the options, with the seed of the file."""
        if self.has_begun:
            raise ValueError(f"{self._path} is the checkpoint of one fit, and another one began: use one block a fit.")
        self.has_begun = True
        fit = _identity(model, data, starts)
        seed = options.seed
        if self._loaded is not None:
            seed = self._loaded["seed"]
            _refuse_other_fit(self._path, self._loaded["fit"], fit)
        options = replace(options, seed=seed)
        fit["options"] = _hash_of_value(
            {one.name: getattr(options, one.name) for one in fields(options) if one.name not in OTHER_OPTIONS}
        )
        if self._loaded is not None and self._loaded["fit"]["options"] != fit["options"]:
            raise CheckpointError(
                self._path, "it is of a fit with other random choices: give random_state a number, and begin anew"
            )
        self._content = {"maxmargin": __version__, "fit": fit, "seed": int(seed)}
        if self._loaded is None:
            self._write(is_first=True)
        else:
            self._written_at = time.perf_counter()
        return options

    def task(self, attempt: int, k: int) -> TaskRecord:
        """The record of task k in an attempt."""
        with self._lock:
            while len(self._attempts) <= attempt:
                self._attempts.append({})
            stages = self._loaded_stages(attempt, k)
            taken_at = time.perf_counter()

            def is_due() -> bool:
                return time.perf_counter() >= taken_at + self._interval

            def on_change() -> None:
                nonlocal taken_at
                taken_at = time.perf_counter()
                with self._lock:
                    if taken_at >= self._written_at + self._interval:
                        self._write()
                        taken_at = time.perf_counter()

            record = self._attempts[attempt][k] = TaskRecord(self._path, stages, is_due, on_change)
        return record

    @contextmanager
    def resuming(self) -> Iterator[None]:
        """Within the block, errors of a fit that continues from the file are errors of the file."""
        try:
            yield
        except (CheckpointError, InfeasibleError, MemoryError):
            raise
        except Exception as error:
            if self._loaded is None:
                raise
            raise CheckpointError(self._path, f"a fit resumed from it fails: {error}") from error

    def check(self, model: Any, data: Any) -> None:
        """Refuse vectors that do not belong together, which a forged state may have set.

        Those of a store's rows stay in its blocks, and the certificate alone speaks of them.
        """
        in_memory = not isinstance(data, PartitionedData)
        if self._loaded is not None and in_memory and hasattr(model, "certificate_"):
            with np.errstate(over="ignore", invalid="ignore"):
                check_model(model, data, model.certificate_)
                check_storable(model, data)

    def end(self, status: Status) -> None:
        """Write the last checkpoint; that of a fit that has ended may be overwritten."""
        with self._lock:
            self._write(is_finished=status not in BROKEN_OFF)

    def _loaded_stages(self, attempt: int, k: int) -> list[Stage]:
        attempts = [] if self._loaded is None else self._loaded["attempts"]
        return list(attempts[attempt].get(k, [])) if attempt < len(attempts) else []

    def _all_stages(self) -> list[dict[int, list[Stage]]]:
        """The stages of all tasks; those that were not begun again yet are as they were loaded."""
        loaded = [] if self._loaded is None else self._loaded["attempts"]
        found: list[dict[int, list[Stage]]] = []
        for attempt in range(max(len(loaded), len(self._attempts))):
            stages = dict(loaded[attempt]) if attempt < len(loaded) else {}
            if attempt < len(self._attempts):
                stages |= {k: list(record.stages) for k, record in self._attempts[attempt].items()}
            found.append(stages)
        return found

    def _write(self, *, is_first: bool = False, is_finished: bool = False) -> None:
        """Replace the file; where that fails, warn once and continue."""
        began = time.perf_counter()
        try:
            data = _to_bytes({**self._content, "finished": is_finished}, self._all_stages())
            with written_atomically(self._path) as file:
                file.write(data)
        except OSError as error:
            if is_first and error.errno not in DISK_FULL:
                raise
            if not self._has_warned:
                self._has_warned = True
                warn_user(f"{self._path}: no checkpoint was written: {error.strerror}. The fit continues.", UserWarning)
        self._written_at = time.perf_counter()
        if self._every > 0.0:
            self._interval = max(self._every, PARTS_TO_WRITE * (self._written_at - began))


# What a fit is.


def _identity(model: Any, data: Any, starts: Sequence[Any]) -> dict[str, Any]:
    """What identifies a fit: the estimator, its parameters, and hashes of its data and of where it begins."""
    parameters = {}
    for name, value in model.get_params(deep=False).items():
        if name in OTHER_PARAMETERS:
            continue
        try:
            parameters[name] = encode(value)
        except TypeError as error:
            raise ValueError(
                f"{name} is a {type(value).__name__}: a checkpoint cannot tell whether it is the same later. Fit "
                "without checkpoints, or give a plain value."
            ) from error
    matrix = data.points.matrix
    targets, weights = (
        _targets_of(data) if isinstance(data, PartitionedData) else (_codes_of(data, model), data.weights)
    )
    kind = "sparse" if sp.issparse(matrix) else "dense"
    return {
        "class": type(model).__name__,
        "parameters": parameters,
        "rows": f"{matrix.shape[0]:,} {kind} rows of {matrix.shape[1]:,} columns, {matrix.dtype.name}",
        "X": hash_of_rows(matrix),
        "y": hash_of([targets]),
        "weights": None if weights is None else hash_of([weights.astype("<f8")]),
        "starts": _hash_of_value(list(starts)),
    }


def _codes_of(data: Any, model: Any) -> np.ndarray:
    """The codes of the labels, or the targets of a regression."""
    return data.codes.astype("<u8") if is_classifier(model) else data.targets.astype("<f8")


def _targets_of(data: PartitionedData) -> tuple[np.ndarray, np.ndarray | None]:
    """The same of a store's blocks, and the weights of the rows."""
    blocks = [checked[0] for checked in data.points.partitions]  # type: ignore[index]
    labels = np.concatenate([block.labels for block in blocks])
    targets = np.searchsorted(data.classes, labels).astype("<u8") if len(data.classes) else labels.astype("<f8")
    weighted = any(block.weights is not None for block in blocks)
    return targets, np.concatenate([block.weights for block in blocks]) if weighted else None


def _hash_of_value(value: Any) -> str:
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Add a value, or the arrays and fields of one, to a hash."""
    digest.update(f"{type(value).__name__}\0".encode())
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif is_dataclass(value):
        for one in fields(value):
            # The history of an earlier fit has seconds, and nothing depends on it.
            if one.name != "history":
                _feed(digest, getattr(value, one.name))
    elif isinstance(value, dict):
        for name, entry in sorted(value.items()):
            _feed(digest, name)
            _feed(digest, entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            _feed(digest, entry)
    else:
        digest.update(f"{value!r}\0".encode())


def _refuse_other_fit(path: str, stored: dict[str, Any], fit: dict[str, Any]) -> None:
    """Raise an error that names what is not the same."""
    if stored["class"] != fit["class"]:
        raise CheckpointError(path, f"it is of a {stored['class']}, not of a {fit['class']}")
    before, now = stored["parameters"], fit["parameters"]
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            was, is_now = (decode(values.get(name)) for values in (before, now))
            raise CheckpointError(path, f"it is of a fit with {name}={was!r}, not {is_now!r}")
    if stored["rows"] != fit["rows"]:
        raise CheckpointError(path, f"it is of a fit on {stored['rows']}; these are {fit['rows']}")
    words = {
        "X": "other rows",
        "y": "other targets, or in another order",
        "weights": "other weights",
        "starts": "another warm start",
    }
    for name, text in words.items():
        if stored[name] != fit[name]:
            raise CheckpointError(path, f"it is of a fit with {text}")


# The file.


def _to_bytes(content: dict[str, Any], attempts: list[dict[int, list[Stage]]]) -> bytes:
    tensors: dict[str, np.ndarray] = {}

    def tree(value: Any) -> Any:
        """JSON types, with arrays by their names."""
        if isinstance(value, np.ndarray):
            name = f"{len(tensors)}"
            tensors[name] = value
            return {"tensor": name}
        if isinstance(value, dict):
            return {"state": {name: tree(entry) for name, entry in value.items()}}
        if isinstance(value, list):
            return [tree(entry) for entry in value]
        return encode(value)

    stored = []
    for tasks in attempts:
        # A stage before its first safe point has no state.
        stages_of = {k: [stage for stage in stages if stage.state is not None] for k, stages in tasks.items()}
        stored.append(
            [
                [k, [[stage.name, stage.status and str(stage.status), tree(stage.state)] for stage in stages]]
                for k, stages in sorted(stages_of.items())
                if stages
            ]
        )
    by_columns = [name for name, array in tensors.items() if array.flags.f_contiguous and not array.flags.c_contiguous]
    return pack(
        {name: array.T if name in by_columns else array for name, array in tensors.items()},
        {"format": FORMAT, "version": VERSION, **content, "attempts": stored, "column_major": by_columns},
    )


def _read(path: str) -> dict[str, Any]:
    """The content of a checkpoint, with the stages of every task."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return _from_bytes(data)
    except (SafetensorError, ValueError, OverflowError, RecursionError) as error:
        raise CheckpointError(path, str(error) or type(error).__name__) from error


def _from_bytes(data: bytes) -> dict[str, Any]:
    content = content_of(data)
    if content.get("format") != FORMAT:
        raise ValueError(f"its format is {content.get('format')!r} instead of {FORMAT!r}")
    if content.get("version") != VERSION or content.get("maxmargin") != __version__:
        raise ValueError(f"it is of maxmargin {content.get('maxmargin')}; this one is {__version__}: begin anew")
    if set(content) != set(CONTENT):
        raise ValueError(f"it has the entries {sorted(content)}")
    check_sum(data, content[CHECKSUM])
    if type(content["finished"]) is not bool:
        raise ValueError("it does not say whether the fit has ended")
    if type(content["seed"]) is not int or not 0 <= content["seed"] < 2**63:
        raise ValueError("its seed is no number")
    _check_fit(content["fit"])
    layout = content["column_major"]
    if not isinstance(layout, list) or not all(isinstance(name, str) for name in layout):
        raise ValueError("column_major is not a list of names")
    tensors = tensors_of(data)
    attempts = content["attempts"]
    if not isinstance(attempts, list):
        raise ValueError("its attempts are no list")
    return {**content, "attempts": [_tasks_of(tasks, tensors, frozenset(layout)) for tasks in attempts]}


def _check_fit(fit: Any) -> None:
    names = ("class", "parameters", "rows", "X", "y", "weights", "starts", "options")
    if not isinstance(fit, dict) or set(fit) != set(names) or not isinstance(fit["parameters"], dict):
        raise ValueError("it does not say which fit it is of")
    for value in fit["parameters"].values():
        decode(value)
    if not all(isinstance(fit[name], str) or (name == "weights" and fit[name] is None) for name in names[2:]):
        raise ValueError("it has no hashes of its fit")


def _tasks_of(tasks: Any, tensors: dict[str, Tensor], layout: frozenset[str]) -> dict[int, list[Stage]]:
    if not isinstance(tasks, list):
        raise ValueError("its tasks are no list")
    found: dict[int, list[Stage]] = {}
    for entry in tasks:
        if not (isinstance(entry, list) and len(entry) == 2 and type(entry[0]) is int and isinstance(entry[1], list)):
            raise ValueError("a task is not a number and its stages")
        stages = [_stage_of(stage, tensors, layout) for stage in entry[1]]
        if any(stage.status is None for stage in stages[:-1]):
            raise ValueError("a stage follows one that has not ended")
        found[entry[0]] = stages
    return found


def _stage_of(stored: Any, tensors: dict[str, Tensor], layout: frozenset[str]) -> Stage:
    def value_of(node: Any) -> Any:
        if isinstance(node, dict) and set(node) == {"tensor"}:
            name = node["tensor"]
            if not isinstance(name, str) or name not in tensors:
                raise ValueError("an array is missing")
            array = tensors[name].array(DTYPES)
            return array.T if name in layout else array
        if isinstance(node, dict) and set(node) == {"state"} and isinstance(node["state"], dict):
            return {name: value_of(entry) for name, entry in node["state"].items()}
        if isinstance(node, list):
            return [value_of(entry) for entry in node]
        return decode(node)

    if not isinstance(stored, list) or len(stored) != 3 or not isinstance(stored[0], str):
        raise ValueError("a stage is not a name, a status and a state")
    state = value_of(stored[2])
    if not isinstance(state, dict):
        raise ValueError("a stage has no state")
    return Stage(stored[0], None if stored[1] is None else Status(stored[1]), state)


def _refuse_unfinished(path: str) -> None:
    """Refuse to overwrite the checkpoint of a fit that has not ended, or a file of another kind."""
    if not os.path.exists(path) or not os.path.isfile(path) or os.path.getsize(path) == 0:
        return
    try:
        is_finished = _read(path)["finished"]
    except CheckpointError as error:
        raise CheckpointError(path, f"it exists and is no checkpoint of a fit that has ended: {error.reason}") from None
    if not is_finished:
        raise CheckpointError(path, "it is the checkpoint of a fit that has not ended: resume it, or delete the file")
