"""Data and objective values that tests of regressions share."""

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_diabetes

from maxmargin import (
    BayesianRegression,
    Lasso,
    Ridge,
)

X, Y = load_diabetes(return_X_y=True)
WEIGHTS = np.random.default_rng(0).uniform(0.0, 3.0, len(Y))
WEIGHTS[:7] = 0.0
FORMS = {"dense": np.asarray, "sparse": sp.csr_array, "csc": sp.csc_array}


def random_regression(seed, n=20, d=5, noise=0.3):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, d))
    return rows, rows @ generator.standard_normal(d) + 2.0 + noise * generator.standard_normal(n)


def lasso_value(model, rows, y, lam, weights=None):
    residuals = y - rows @ model.coef_ - model.intercept_
    weights = np.ones(len(y)) if weights is None else weights
    return 0.5 * weights @ residuals**2 + lam * np.abs(model.coef_).sum()


EVERY_KIND = [Ridge(lam=0.0), Ridge(lam=2.0), Lasso(lam=5.0, tol=1e-9), BayesianRegression()]
