"""Learners of streams, which take one example at a time: on a part of the rows, prepared beforehand."""

import numpy as np
import vowpalwabbit
from river.linear_model import Perceptron
from scipy.sparse import csr_matrix
from suite import Solver

ROWS = 2_000
PASSES = 2


class _Stream(Solver):
    """Cuts evenly spaced rows out of the data, as lists of pairs (column, value)."""

    parts = ("passes",)

    def set_data(self, X, y):
        """Choose and convert the rows."""
        chosen = np.linspace(0, X.shape[0] - 1, ROWS).astype(int)
        part = csr_matrix(X[chosen])
        columns, values = np.split(part.indices, part.indptr[1:-1]), np.split(part.data, part.indptr[1:-1])
        self.X, self.y = X[chosen], y[chosen]
        self.pairs = [
            list(zip(c.tolist(), v.tolist(), strict=True)) for c, v in zip(columns, values, strict=True)
        ]

    def weights(self) -> np.ndarray:
        """Return w as an array."""
        raise NotImplementedError

    def get_result(self):
        """Return the plane and the data that it was made from."""
        return {
            "w": self.weights(),
            "passes": PASSES,
            "rows": ROWS,
            "fit_intercept": self.fit_intercept,
            "X": self.X,
            "y": self.y,
        }


class River(_Stream):
    """``river.linear_model.Perceptron.learn_one`` on dictionaries; it always has an intercept."""

    name = "river"
    fit_intercept = True

    def set_data(self, X, y):
        """Choose the rows and make dictionaries of them."""
        super().set_data(X, y)
        self.examples = [
            (dict(pairs), sign > 0) for pairs, sign in zip(self.pairs, self.y.tolist(), strict=True)
        ]

    def run(self, _stop):
        """Learn from each example in turn."""
        self.model = Perceptron()
        learn = self.model.learn_one
        for _ in range(PASSES):
            for x, label in self.examples:
                learn(x, label)

    def weights(self):
        """Return w; columns that no update touched are zero."""
        w = np.zeros(self.X.shape[1])
        for column, value in self.model.weights.items():
            w[column] = value
        return w


class VowpalWabbit(_Stream):
    """Stochastic gradient descent on the hinge loss, which has its kink at a margin of 1.

    With a step of 2^20 that margin is a millionth of a step, and the updates are those of the perceptron.
    """

    name = "Vowpal Wabbit"
    step = 2.0**20
    settings = f"--quiet --sgd --loss_function hinge -l {step} --power_t 0 --initial_t 0 -b 18"

    def before_run(self, stop):
        """Open an empty model and make its examples of the rows."""
        self.fit_intercept = stop.fit_intercept(self.X)
        self.model = vowpalwabbit.Workspace(self.settings + ("" if self.fit_intercept else " --noconstant"))
        self.examples = [
            self._example(pairs, sign) for pairs, sign in zip(self.pairs, self.y.tolist(), strict=True)
        ]

    def run(self, _stop):
        """Learn from each example in turn."""
        learn = self.model.learn
        for _ in range(PASSES):
            for example in self.examples:
                learn(example)

    def weights(self):
        """Return w in units of a step."""
        return np.array([self.model.get_weight(column) for column in range(self.X.shape[1])]) / self.step

    def _example(self, pairs, sign):
        example = vowpalwabbit.Example(self.model, labelType=vowpalwabbit.LabelType.SIMPLE)
        example.push_features("x", pairs)
        example.set_label_string(str(sign))
        example.setup_example()
        return example
