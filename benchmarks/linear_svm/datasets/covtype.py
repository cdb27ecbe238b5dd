"""Forest cover: many rows of few columns."""

import numpy as np

from datasets.covtype import CovtypeDense, CovtypeSparse


class Sparse(CovtypeSparse):
    """Sparse rows."""

    parts = ("race", "choice", "intercept", "growth")


class Dense(CovtypeDense):
    """An array."""

    parts = ("race", "choice", "intercept")


class SparseDouble(CovtypeSparse):
    """Sparse rows of float64."""

    name = "covtype sparse float64"
    parts = ("memory",)
    dtype = np.float64

    def get_data(self):
        """Convert the entries."""
        data = super().get_data()
        return {**data, "X": data["X"].astype(self.dtype, copy=False)}


class SparseSingle(SparseDouble):
    """Sparse rows of float32."""

    name = "covtype sparse float32"
    dtype = np.float32


class DenseSingle(CovtypeDense):
    """An array of float32."""

    name = "covtype dense float32"
    parts = ("memory",)

    def get_data(self):
        """Convert the entries."""
        data = super().get_data()
        return {**data, "X": data["X"].astype(np.float32)}
