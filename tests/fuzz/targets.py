"""The targets by their names."""

from collections.abc import Callable

from fuzz.checkpoints import Checkpoints
from fuzz.commands import Commands
from fuzz.estimators import Estimators
from fuzz.files import Liblinear, Libsvm, Parquet, Stores, Svmlight, Tables
from fuzz.functions import Functions
from fuzz.further_estimators import Calibrated, FurtherEstimators
from fuzz.harness import Target
from fuzz.models import Models
from fuzz.separability import Separability

TARGETS: dict[str, Callable[[], Target]] = {
    "estimators": Estimators,
    "further_estimators": FurtherEstimators,
    "calibrated": Calibrated,
    "functions": Functions,
    "separability": Separability,
    "svmlight": Svmlight,
    "csv": Tables,
    "parquet": Parquet,
    "models": Models,
    "stores": Stores,
    "checkpoints": Checkpoints,
    "libsvm": Libsvm,
    "liblinear": Liblinear,
    "command": Commands,
}
