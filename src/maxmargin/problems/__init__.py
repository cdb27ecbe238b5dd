"""What is solved, without an algorithm: margins, the perceptron's problem, Mercer kernels, support vector machines."""

from maxmargin.problems.linear_svm import C_from_lambda
from maxmargin.problems.margins import Margins, margins
from maxmargin.problems.perceptron import PerceptronProblem, incremental_search_bound, margin_perceptron_bound

__all__ = [
    "C_from_lambda",
    "Margins",
    "PerceptronProblem",
    "incremental_search_bound",
    "margin_perceptron_bound",
    "margins",
]
