"""Options of the subcommands, in groups: one dataclass a theme, which ``expand_options`` turns into options.

A subcommand takes a group by a parameter of its type. ``PANEL`` is the heading of the group in the help.
"""

import inspect
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import typer

from maxmargin.cli.checks import refuse_unreadable
from maxmargin.cli.models import KERNEL_OPTIONS, number_or_name, weights_of_classes

if TYPE_CHECKING:
    from maxmargin.files import TableOptions

JSON = typer.Option("--json", help="Print one JSON object.")
DETAILS = typer.Option("--details", help="Print the certificates of all classes, and all columns.")
ZERO_BASED = typer.Option("--zero-based", help="Columns of svmlight text are counted from zero.")


@dataclass(frozen=True)
class ModelOptions:
    """Options that set parameters of the model; None keeps the model's default."""

    PANEL: ClassVar[str] = "Model"

    C: Annotated[
        float | None,
        typer.Option(
            "-C",
            help="Weight of the loss against the penalty. inf: the hard margin of linear-svc and svc; "
            "no penalty for logistic-regression.",
        ),
    ] = None
    loss: Annotated[str | None, typer.Option(help="hinge, squared_hinge, epsilon_insensitive, ...")] = None
    kernel: Annotated[
        str | None, typer.Option(help="rbf, linear, poly, sigmoid.", autocompletion=lambda: list(KERNEL_OPTIONS))
    ] = None
    gamma: Annotated[
        str | None,
        typer.Option(help="Kernel: a number, scale or auto. margin-perceptron: the margin to find."),
    ] = None
    degree: Annotated[int | None, typer.Option(help="Degree of the polynomial kernel.")] = None
    coef0: Annotated[float | None, typer.Option(help="Constant of the polynomial and the sigmoid kernel.")] = None
    epsilon: Annotated[float | None, typer.Option(help="linear-svr, svr: errors up to epsilon cost nothing.")] = None
    nu: Annotated[
        float | None,
        typer.Option(help="nu-svc, nu-svr, one-class-svm: the largest share of margin errors, 0.5 by default."),
    ] = None
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Penalty of ridge, lasso, elastic-net, 1 by default, and perceptron; for every row but ridge's."
        ),
    ] = None
    penalty: Annotated[
        str | None,
        typer.Option(
            help="l2, l1, elasticnet: of logistic-regression, perceptron, linear-svc (l1 with --loss squared_hinge)."
        ),
    ] = None
    l1_ratio: Annotated[
        float | None,
        typer.Option(help="elastic-net, logistic-regression, perceptron: the share of the 1-norm."),
    ] = None
    lam: Annotated[float | None, typer.Option(help="The same for all rows together, as in the lecture.")] = None
    sigma2: Annotated[
        float | None, typer.Option(help="Variance of the noise; with --tau2 or --rate instead of --alpha.")
    ] = None
    tau2: Annotated[float | None, typer.Option(help="Prior variance of ridge's coefficients; see --sigma2.")] = None
    rate: Annotated[float | None, typer.Option(help="Rate of the lasso's Laplace prior; see --sigma2.")] = None
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Fit no intercept.")] = False
    solver: Annotated[
        str | None,
        typer.Option(help="auto, newton, coordinate (linear-svc, linear-svr), gradient (logistic-regression)."),
    ] = None
    step_size: Annotated[float | None, typer.Option(help="Step size of --solver gradient.")] = None
    tol: Annotated[
        float | None,
        typer.Option(help="Relative duality gap to stop at; perceptrons: least progress per epoch."),
    ] = None
    class_weight: Annotated[
        str | None, typer.Option(help="balanced, or LABEL=WEIGHT with commas between them: weights of the classes.")
    ] = None
    cache_size: Annotated[float | None, typer.Option(help="Size of the kernel cache in megabytes.")] = None
    max_iter: Annotated[int | None, typer.Option(help="Most epochs or iterations.")] = None
    max_time: Annotated[
        float | None, typer.Option(help="Most seconds of training, of all fits together with --cv and --search.")
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", help="Threads, by default one per core; the result does not depend on it."),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of random orders, and of the folds of --cv, --search and --calibrate, 0 by default."),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """The parameters by their names in the library."""
        values = asdict(self)
        values["class_weight"] = weights_of_classes(self.class_weight)
        values["gamma"] = number_or_name(self.gamma)
        values["fit_intercept"] = False if values.pop("no_intercept") else None
        values["n_jobs"], values["random_state"] = values.pop("jobs"), values.pop("seed")
        return values


@dataclass(frozen=True)
class DataOptions:
    """Options of how the rows are read."""

    PANEL: ClassVar[str] = "Data"

    target: Annotated[
        str | None,
        typer.Option(help="Column of a table that holds the labels or values; by default the one of the training."),
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(help="Character between the columns of CSV; by default found in the first line.")
    ] = None
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line of CSV holds values; columns are called 1, 2, ...")
    ] = False
    decimal: Annotated[str, typer.Option(help="Decimal point of CSV.")] = "."
    encoding: Annotated[str, typer.Option(help="Encoding of CSV, such as latin-1.")] = "utf-8"
    missing: Annotated[
        str | None, typer.Option(help="Texts that are missing values, with commas between them, such as '?'.")
    ] = None
    zero_based: Annotated[bool, ZERO_BASED] = False

    def table(self, **more: Any) -> "TableOptions":
        """The options of tables, by their names in the library."""
        from maxmargin.files import TableOptions

        delimiter = {"tab": "\t", "\\t": "\t"}.get(self.delimiter or "", self.delimiter)
        return TableOptions(
            delimiter=delimiter,
            header=not self.no_header,
            decimal=self.decimal,
            encoding=self.encoding,
            missing=_listed(self.missing),
            **more,
        )


@dataclass(frozen=True)
class NewRowsOptions:
    """Options of rows for a model that is trained."""

    PANEL: ClassVar[str] = "Data"

    unseen: Annotated[
        str, typer.Option(help="Categories and indices that did not occur in training: ignore (and count) or error.")
    ] = "ignore"


@dataclass(frozen=True)
class ColumnOptions:
    """Options of what the columns of new tables are."""

    PANEL: ClassVar[str] = "Columns"

    categorical: Annotated[
        str | None, typer.Option(help="Columns that are categories, with commas between the names.")
    ] = None
    numeric: Annotated[str | None, typer.Option(help="Columns of numbers, in which other texts are missing.")] = None
    drop: Annotated[str | None, typer.Option(help="Columns to leave out.")] = None
    id: Annotated[str | None, typer.Option(help="Column that names the rows; it is not learned from.")] = None
    impute: Annotated[
        str | None, typer.Option(help="Fill missing values by the mean, the median or the most-frequent value.")
    ] = None
    max_categories: Annotated[int, typer.Option(help="Most values of a categorical column.")] = 1000
    dates: Annotated[str, typer.Option(help="Dates as days (since 1970) or as parts (year, month, ...).")] = "days"
    n_features: Annotated[
        int | None, typer.Option(min=1, help="Columns of svmlight text, by default the largest index.")
    ] = None

    def table(self, given: DataOptions, weight: str | None = None) -> "TableOptions":
        """The options of tables, by their names in the library."""
        return given.table(
            id=self.id,
            categorical=_listed(self.categorical),
            numeric=_listed(self.numeric),
            drop=_listed(self.drop),
            impute=self.impute,
            max_categories=self.max_categories,
            dates=self.dates,
            weight=weight,
        )


def _listed(names: str | None) -> tuple[str, ...]:
    """Names with commas between them."""
    return () if names is None else tuple(name.strip() for name in names.split(",") if name.strip())


@dataclass(frozen=True)
class PreparationOptions:
    """Options of what is done to the rows before training."""

    PANEL: ClassVar[str] = "Columns"

    scale: Annotated[
        str | None, typer.Option(help="Scale the columns: standard, minmax or maxabs; the model does it to new rows.")
    ] = None
    sample_weight: Annotated[
        str | None, typer.Option(help="Sample weights: a column of the table, or a text file with one number a line.")
    ] = None


@dataclass(frozen=True)
class StoreOptions:
    """Options of data that are larger than memory."""

    PANEL: ClassVar[str] = "Data"

    store: Annotated[
        bool, typer.Option("--store", help="Train from DATA.store, which is written first if it is missing or old.")
    ] = False
    store_dir: Annotated[Path | None, typer.Option(help="Write the store into this folder, and train from it.")] = None
    passes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="perceptron: learn in this many passes over files of any size, block by block, in the order of the "
            "rows. Files larger than the memory are read so in one pass.",
        ),
    ] = None


@dataclass(frozen=True)
class CheckpointOptions:
    """Options of training that can be killed and resumed."""

    PANEL: ClassVar[str] = "Checkpoints"

    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Write checkpoints of the training to this file, from which --resume continues."),
    ] = None
    every: Annotated[
        str | None, typer.Option(help="Time between two checkpoints, such as 30s, 5m or 1h (default 60s).")
    ] = None
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Go on from this checkpoint, of the same data and parameters; the model is that of a run that was not "
            "killed, bit for bit. With --checkpoint of the same name: begin, where there is none yet."
        ),
    ] = None

    @property
    def path(self) -> Path | None:
        """The file of the checkpoints."""
        return self.resume if self.checkpoint is None else self.checkpoint

    def refuse(self, output: Path, scheduler: str | None) -> None:
        """Refuse options that do not go together."""
        if self.path is None:
            if self.every is not None:
                raise ValueError("--every needs --checkpoint or --resume: name the file of the checkpoints.")
            return
        if self.checkpoint is not None and self.resume is not None and self.checkpoint != self.resume:
            raise ValueError("--checkpoint and --resume name two files: a run continues in the one that it began with.")
        if self.path == output:
            raise ValueError(f"{self.path} is the model file of -o: name another file for the checkpoints.")
        if scheduler is not None:
            raise ValueError("--scheduler: training on a cluster writes no checkpoints; leave them out.")
        if self.checkpoint is None:
            refuse_unreadable(str(self.resume), "--resume")
        self.seconds()

    def seconds(self) -> float:
        """The time between two checkpoints."""
        text = "60s" if self.every is None else self.every
        units = {"s": 1.0, "m": 60.0, "h": 3600.0}
        number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
        try:
            seconds = float(number) * units[unit]
        except ValueError:
            seconds = math.nan
        if not 0.0 <= seconds < math.inf:
            raise ValueError(f"--every {text}: give a time such as 30s, 5m or 1h.")
        return seconds

    def context(self) -> AbstractContextManager[None]:
        """Write checkpoints of the fit in this context, where they are requested."""
        if self.path is None:
            return nullcontext()
        from maxmargin.files import checkpoints

        both = self.checkpoint is not None and self.resume is not None
        resume = "auto" if both else self.resume is not None
        return checkpoints(self.path, every=self.seconds(), resume=resume)


@dataclass(frozen=True)
class ClusterOptions:
    """Options of data on the workers of a cluster."""

    PANEL: ClassVar[str] = "Data"

    scheduler: Annotated[
        str | None,
        typer.Option(help="Train on a Dask cluster: its scheduler's address, or local[:N] for N workers here."),
    ] = None


@dataclass(frozen=True)
class SelectionOptions:
    """Options of cross-validation, of the search for parameters and of the test."""

    PANEL: ClassVar[str] = "Selection and test"

    test: Annotated[str | None, typer.Option(help="Test data, in any format that is read.")] = None
    cv: Annotated[int | None, typer.Option(min=2, help="Cross-validate with this number of folds first.")] = None
    search: Annotated[
        bool,
        typer.Option("--search", help="Choose C (and gamma), or lam, by cross-validation; with --cv in nested folds."),
    ] = False
    grid: Annotated[
        list[str],
        typer.Option(help="Values for --search, such as C=0.01:100:log5 or gamma=0.1,1; once for each parameter."),
    ] = field(default_factory=list)
    metric: Annotated[
        str | None, typer.Option(help="What --search and --cv compare; by default accuracy or R². See evaluate.")
    ] = None
    calibrate: Annotated[
        str | None,
        typer.Option(help="Fit probabilities to the scores of 5 folds: sigmoid, or isotonic (for many rows)."),
    ] = None
    no_score: Annotated[bool, typer.Option("--no-score", help="Skip the accuracy on the training rows.")] = False

    @property
    def needs_arrays(self) -> bool:
        """Whether all rows have to be in memory."""
        return self.search or self.cv is not None or self.calibrate is not None


@dataclass(frozen=True)
class ReportOptions:
    """Options of what is printed and drawn."""

    PANEL: ClassVar[str] = "Report"

    plot: Annotated[
        Path | None, typer.Option(help="Draw the model into this file, .png, .svg or .pdf; see maxmargin plot.")
    ] = None
    strip: Annotated[
        bool, typer.Option("--strip", help="Write what predictions need; the proof goes to NAME.proof beside it.")
    ] = False
    as_json: Annotated[bool, JSON] = False
    details: Annotated[bool, DETAILS] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Off a terminal, print lines of progress on standard error.")
    ] = False


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace every parameter whose type is a dataclass by one option for each field.

    Typer reads the options of a command from its signature, and has no groups of options.
    """
    parameters = inspect.signature(command).parameters.values()
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation for parameter in parameters if is_dataclass(parameter.annotation)
    }
    expanded: list[inspect.Parameter] = []
    for parameter in parameters:
        if parameter.name in groups:
            expanded += _options_of(groups[parameter.name])
        else:
            annotation = _without_type(parameter.annotation)
            expanded.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation))

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{part.name: values.pop(part.name) for part in fields(group)})
        command(**values)

    run.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in expanded}
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:
    """One parameter for each field of a group, with the group's heading in the help."""
    types = get_type_hints(group, include_extras=True)
    found = []
    for part in fields(group):
        base, option = types[part.name].__origin__, copy(types[part.name].__metadata__[0])
        option.rich_help_panel = group.PANEL
        default = part.default if part.default_factory is MISSING else part.default_factory()
        kind = inspect.Parameter.KEYWORD_ONLY
        annotation = _without_type(Annotated[base, option])
        found.append(inspect.Parameter(part.name, kind, default=default, annotation=annotation))
    return found


def _without_type(annotation: Any) -> Any:
    """A flag without a type in the help: it takes no value."""
    if annotation.__origin__ is not bool:
        return annotation
    option = copy(annotation.__metadata__[0])
    option.metavar = ""
    return Annotated[bool, option]
