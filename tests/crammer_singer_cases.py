"""Problems of Crammer and Singer, and the calls that solve and certify them."""

import math

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates.multiclass_gap import measure_multiclass_gap
from maxmargin.data import Points
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.solvers.core import Monitor, warm_start
from maxmargin.solvers.linear import crammer_singer
from maxmargin.solvers.linear.options import LinearOptions

FREE, NONE = 0.0, math.inf


def csr(X):
    """With short indices, as from a user: slices have long ones, for which the loops would be compiled again."""
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)


def problem_of(X, codes, C=1.0, penalty=FREE, weights=None, n_classes=None):
    matrix = csr(X) if sp.issparse(X) else np.ascontiguousarray(X)
    codes = np.asarray(codes)
    weights = np.ones(codes.size) if weights is None else np.asarray(weights, dtype=float)
    return CrammerSingerProblem(Points(matrix), codes, weights, n_classes or int(codes.max()) + 1, C, penalty)


def solve(problem, tol=1e-6, start=None, **options):
    return crammer_singer.solve(
        problem,
        LinearOptions(tol=tol, **options),
        Monitor(max_time=120.0),
        start if start is None else warm_start(start),
    )


def certificate_of(problem, point):
    return measure_multiclass_gap(problem, point.w, point.intercept, point.beta)


def blobs(seed, n=60, d=5, n_classes=4, spread=1.5):
    generator = np.random.default_rng(seed)
    codes = generator.integers(n_classes, size=n)
    codes[:n_classes] = np.arange(n_classes)
    return generator.standard_normal((n_classes, d))[codes] + spread * generator.standard_normal((n, d)), codes
