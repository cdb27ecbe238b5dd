"""Models, labels and texts that tests of model files share."""

import shutil
import subprocess

import numpy as np
from sklearn.datasets import load_iris

from maxmargin import (
    SVR,
    BayesianRegression,
    ElasticNet,
    Lasso,
    LinearSVR,
    NuSVR,
    Ridge,
)

X, CODES = load_iris(return_X_y=True)
X = X[:, [1, 3]] - X[:, [1, 3]].mean(axis=0)
WORDS = np.array(["rose", "iris", "älter"])
VALUES = X[:, 0] - X[:, 1] ** 2


REGRESSIONS = [
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive", fit_intercept=False, epsilon=0.1),
    SVR(),
    SVR(kernel="linear", C=0.1),
    NuSVR(nu=0.3),
    Ridge(lam=0.3),
    Ridge(sigma2=2.0, tau2=3.0, fit_intercept=False),
    Lasso(lam=0.3),
    Lasso(alpha=0.01, positive=True),
    ElasticNet(alpha=0.01, l1_ratio=0.3),
    BayesianRegression(),
    BayesianRegression(fit_intercept=False),
]


def name_of(model):
    return f"{type(model).__name__}-" + "-".join(str(value) for value in list(vars(model).values())[:2])


def labels_of(n_classes, words=False):
    codes = CODES if n_classes == 3 else (CODES > 0).astype(int)
    return WORDS[codes] if words else codes


def clone(model):
    return type(model)(**model.get_params())


def write_text_data(path, data, labels):
    """The data as both LIBSVM and LIBLINEAR read them."""
    rows = [
        " ".join([repr(label), *(f"{column}:{value!r}" for column, value in enumerate(row, 1))])
        for row, label in zip(data.tolist(), labels.tolist(), strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")


def run_command(folder, *words):
    subprocess.run([shutil.which(words[0]), *words[1:]], cwd=folder, check=True, capture_output=True, timeout=60)


LIBSVM_TEXT = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:-1
-1 2:1e-3
"""
