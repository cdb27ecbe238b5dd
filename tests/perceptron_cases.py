"""The perceptrons that several test modules fit."""

import pytest

from maxmargin import KernelPerceptron, MarginPerceptron, Perceptron

LINEAR = [Perceptron(max_iter=20), MarginPerceptron(max_iter=50)]
ALL = [*LINEAR, KernelPerceptron(max_iter=20)]
quiet = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
