"""What is solved, without an algorithm: margins, the perceptron's problem, Mercer kernels."""

from maxmargin.problems.perceptron import PerceptronProblem, incremental_search_bound, margin_perceptron_bound
from maxmargin.problems.planes import Margins, margins

__all__ = ["Margins", "PerceptronProblem", "incremental_search_bound", "margin_perceptron_bound", "margins"]
