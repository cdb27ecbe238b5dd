"""The scikit-learn face of the package."""

from maxmargin.estimators.certification import certify
from maxmargin.estimators.kernel_perceptron import KernelPerceptron
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.margin_perceptron import MarginPerceptron
from maxmargin.estimators.perceptron import Perceptron

__all__ = ["KernelPerceptron", "LinearSVC", "MarginPerceptron", "Perceptron", "certify"]
