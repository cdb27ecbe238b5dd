"""river's perceptron."""

import numpy as np
from river.linear_model import Perceptron

from perceptron.streams import PASSES, Stream


class River(Stream):
    """``river.linear_model.Perceptron.learn_one`` on dictionaries; it always has an intercept."""

    name = "river"
    fit_intercept = True

    def set_data(self, X, y):
        """Choose the rows and make dictionaries of them."""
        super().set_data(X, y)
        self.examples = [(dict(pairs), sign > 0) for pairs, sign in zip(self.pairs, self.y.tolist(), strict=True)]

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
