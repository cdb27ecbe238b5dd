"""What is solved, without an algorithm: margins, the perceptron's problem, Mercer kernels."""

from maxmargin.problems.margins import Margins, margins
from maxmargin.problems.perceptron import PerceptronProblem, incremental_search_bound, margin_perceptron_bound

__all__ = ["Margins", "PerceptronProblem", "incremental_search_bound", "margin_perceptron_bound", "margins"]
