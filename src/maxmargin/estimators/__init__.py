"""The scikit-learn face of the package."""

from maxmargin.estimators.bayesian_regression import BayesianRegression, PosteriorSample
from maxmargin.estimators.calibration import calibrate
from maxmargin.estimators.certification import certify
from maxmargin.estimators.elastic_net import ElasticNet
from maxmargin.estimators.kernel_perceptron import KernelPerceptron
from maxmargin.estimators.lasso import Lasso
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.linear_svr import LinearSVR
from maxmargin.estimators.logistic_regression import LogisticRegression
from maxmargin.estimators.margin_perceptron import MarginPerceptron
from maxmargin.estimators.nu_svc import NuSVC
from maxmargin.estimators.nu_svr import NuSVR
from maxmargin.estimators.one_class_svm import OneClassSVM
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.regularisation_path import svm_path
from maxmargin.estimators.ridge import Ridge
from maxmargin.estimators.sparse_paths import enet_path, l1_min_c, lasso_path
from maxmargin.estimators.svc import SVC
from maxmargin.estimators.svr import SVR

__all__ = [
    "SVC",
    "SVR",
    "BayesianRegression",
    "ElasticNet",
    "KernelPerceptron",
    "Lasso",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "MarginPerceptron",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "PosteriorSample",
    "Ridge",
    "calibrate",
    "certify",
    "enet_path",
    "l1_min_c",
    "lasso_path",
    "svm_path",
]
