"""Vowpal Wabbit, set up so that it learns as a perceptron does."""

import numpy as np
import vowpalwabbit

from perceptron.streams import PASSES, Stream


class VowpalWabbit(Stream):
    """Stochastic gradient descent on the hinge loss, which has its kink at a margin of 1.

    With a step of 2^20 that margin is a millionth of a step, and the updates are those of the perceptron.
    """

    name = "Vowpal Wabbit"
    step = 2.0**20
    options = f"--quiet --sgd --loss_function hinge -l {step} --power_t 0 --initial_t 0 -b 18"

    def before_run(self, stop):
        """Open an empty model and make its examples of the rows."""
        self.fit_intercept = stop.fit_intercept(self.X)
        self.model = vowpalwabbit.Workspace(self.options + ("" if self.fit_intercept else " --noconstant"))
        self.examples = [self._example(pairs, sign) for pairs, sign in zip(self.pairs, self.y.tolist(), strict=True)]

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
