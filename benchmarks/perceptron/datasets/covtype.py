"""Forest cover, dense and sparse."""

from datasets.covtype import CovtypeDense, CovtypeSparse


class Dense(CovtypeDense):
    """An array."""

    parts = ("passes", "lazy")


class Sparse(CovtypeSparse):
    """Sparse rows."""

    parts = ("passes", "lazy")
