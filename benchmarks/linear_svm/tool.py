"""What all tools that train linear support vector machines have in common."""

from typing import Any, ClassVar

import numpy as np

from linear_svm.stops import Stop
from suite import Solver


class Tool(Solver):
    """Minimises 1/2 ||w||² + C Σ max(0, 1 - y w·x), summed over the classes against their rest where there are more.

    ``tolerances`` leads from coarse to fine, ``remark`` says what is special about the tool.
    """

    tolerances: ClassVar[tuple[float, ...]]
    remark: ClassVar[str] = ""

    def set_data(self, X, y):
        """Take the data; tools that want them in another form convert them here."""
        self.X, self.y = X, y
        self.signs = task_signs(y)

    def prepare(self) -> None:
        """Do once, before processes are forked, what they can inherit: compile loops that start no threads."""

    def run(self, stop):
        """Fit one task after the other; tools that know of many classes do it themselves."""
        self.stop = stop
        self.hyperplanes = np.array([self.fit_task(signs, stop) for signs in self.signs])

    def fit_task(self, signs: np.ndarray, stop: Stop) -> np.ndarray:
        """Return w of a two-class task."""
        raise NotImplementedError

    def get_result(self):
        """Return the objective, computed in float64 from the hyperplanes alone."""
        return {"objective": objective(self.X, self.signs, self.stop.C, self.hyperplanes)}


def task_signs(y: np.ndarray) -> np.ndarray:
    """Return a row of +1 and -1 for each task: one for two classes, else one a class."""
    classes = np.unique(y)
    positives = classes[1:] if classes.size == 2 else classes
    return np.where(y == positives[:, None], 1.0, -1.0)


def objective(X: Any, signs: np.ndarray, C: float, hyperplanes: np.ndarray) -> float:
    """The sum of the tasks' objectives."""
    hyperplanes = np.asarray(hyperplanes, dtype=np.float64)
    losses = np.maximum(0.0, 1.0 - signs * (X @ hyperplanes.T).T)
    return float(0.5 * np.sum(hyperplanes**2) + C * np.sum(losses))
