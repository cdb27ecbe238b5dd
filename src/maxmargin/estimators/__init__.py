"""The scikit-learn face of the package."""

from maxmargin.estimators.certification import certify
from maxmargin.estimators.kernel_perceptron import KernelPerceptron
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.linear_svr import LinearSVR
from maxmargin.estimators.logistic_regression import LogisticRegression
from maxmargin.estimators.margin_perceptron import MarginPerceptron
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.regularisation_path import svm_path
from maxmargin.estimators.svc import SVC
from maxmargin.estimators.svr import SVR

__all__ = [
    "SVC",
    "SVR",
    "KernelPerceptron",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "MarginPerceptron",
    "Perceptron",
    "certify",
    "svm_path",
]
