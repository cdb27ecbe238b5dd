"""The scikit-learn face of the package."""

from typing import TYPE_CHECKING

from maxmargin._lazy import lazy_names

_HOME_OF = {
    "BayesianRegression": "bayesian_regression",
    "PosteriorSample": "bayesian_regression",
    "calibrate": "calibration",
    "certify": "certification",
    "ElasticNet": "elastic_net",
    "KernelPerceptron": "kernel_perceptron",
    "Lasso": "lasso",
    "LinearSVC": "linear_svc",
    "LinearSVR": "linear_svr",
    "LogisticRegression": "logistic_regression",
    "MarginPerceptron": "margin_perceptron",
    "NuSVC": "nu_svc",
    "NuSVR": "nu_svr",
    "OneClassSVM": "one_class_svm",
    "Perceptron": "perceptron",
    "svm_path": "regularisation_path",
    "Ridge": "ridge",
    "enet_path": "sparse_paths",
    "l1_min_c": "sparse_paths",
    "lasso_path": "sparse_paths",
    "SVC": "svc",
    "SVR": "svr",
}

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

if TYPE_CHECKING:
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

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
