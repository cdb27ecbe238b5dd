"""Data sets of the page: small ones that show one thing each, and tables of which two columns are shown."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

Points = tuple[tuple[tuple[float, float], ...], tuple[int, ...]]


@dataclass(frozen=True)
class Table:
    """Rows of any number of columns, of which the page shows two, or two principal components.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : tuple of str
        A class name a row.
    columns : tuple of str
    """

    X: np.ndarray
    y: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def classes(self) -> list[str]:
        """The class names in the order of their numbers, or of the alphabet; by default the last one is +1."""
        names = sorted(set(self.y))
        try:
            return sorted(names, key=float)
        except ValueError:
            return names

    def points(self, columns: tuple[int, int] | None, positive: int = -1) -> Points:
        """Two columns, or for None two principal components, to six digits; one class is +1, all others are -1."""
        chosen = self.X[:, list(columns)] if columns is not None else self._components()
        name = self.classes[positive]
        signs = tuple(1 if label == name else -1 for label in self.y)
        return tuple((_six_digits(a), _six_digits(b)) for a, b in chosen), signs

    def _components(self) -> np.ndarray:
        """The first two principal components of the standardised columns; the largest coefficient is positive."""
        spread = self.X.std(axis=0)
        scaled = (self.X - self.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        _, _, directions = np.linalg.svd(scaled, full_matrices=False)
        directions = directions[:2]
        directions *= np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])[:, None]
        scores = scaled @ directions.T
        return scores if scores.shape[1] == 2 else np.column_stack([scores, np.zeros(len(scores))])


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")


def _of(X: Any, y: Any) -> Points:
    return tuple((round(float(a), 3), round(float(b), 3)) for a, b in X), tuple(int(label) for label in y)


def _two_clouds(n: int, distance: float, seed: int, spread: float = 1.0, shift: float = 0.0) -> Points:
    """Normal clouds around (±distance, ±distance/2), both moved by (shift, shift)."""
    generator = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, -1, 1)
    return _of(spread * generator.standard_normal((n, 2)) + y[:, None] * [distance, distance / 2] + shift, y)


def _xor() -> Points:
    generator = np.random.default_rng(3)
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]] * 5)
    return _of(1.5 * corners + 0.4 * generator.standard_normal(corners.shape), corners[:, 0] * corners[:, 1])


def _circles() -> Points:
    generator = np.random.default_rng(5)
    angle = 2 * np.pi * np.arange(36) / 36
    y = np.where(np.arange(36) % 2, -1, 1)
    radius = np.where(y > 0, 0.8, 2.4) + 0.15 * generator.standard_normal(36)
    return _of(radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y)


def _tiny_margin() -> Points:
    generator = np.random.default_rng(7)
    along, y = np.linspace(-3, 3, 16), np.where(np.arange(16) % 2, -1, 1)
    across = y * (0.06 + np.abs(generator.standard_normal(16)))
    across[6:10] = y[6:10] * 0.06
    return _of(np.column_stack([along + 0.3 * across + 0.4, 0.5 * along - across + 0.2]), y)


def _both_labels() -> Points:
    points, labels = _two_clouds(14, 1.8, 11, 0.6)
    return (*points, (0.5, 0.5), (0.5, 0.5)), (*labels, 1, -1)


def _outlier() -> Points:
    points, labels = _two_clouds(20, 1.6, 2, 0.55)
    return (*points, (-0.6, -0.2)), (*labels, 1)


@cache
def _bundled_table(name: str) -> Table:
    from sklearn import datasets

    found = {"iris": datasets.load_iris, "wine": datasets.load_wine}[name]()
    names = tuple(str(found.target_names[label]) for label in found.target)
    return Table(np.asarray(found.data, dtype=float), names, tuple(map(str, found.feature_names)))


# Name, title and points of each preset. Addresses hold the names: the points must stay as they are.
PRESETS: dict[str, tuple[str, Callable[[], Points]]] = {
    "separable": ("two separable clouds", lambda: _two_clouds(24, 1.7, 4, 0.75, 1.5)),
    "overlap": ("two overlapping clouds", lambda: _two_clouds(30, 0.9, 4)),
    "xor": ("exclusive or", _xor),
    "circles": ("two circles", _circles),
    "tiny margin": ("a tiny margin", _tiny_margin),
    "both labels": ("the same point with both labels", _both_labels),
    "outlier": ("an outlier, for C", _outlier),
    "iris": ("iris: petals, virginica against the others", lambda: _bundled_table("iris").points((2, 3))),
    "wine": ("wine: alcohol and flavanoids, class 0", lambda: _bundled_table("wine").points((0, 6), 0)),
    "200 points": ("200 points", lambda: _two_clouds(200, 2.2, 8)),
    "nothing": ("no points: draw your own", lambda: ((), ())),
}
TABLES = {"iris": ((2, 3), 2), "wine": ((0, 6), 0)}


@cache
def preset(name: str) -> Points:
    """Points and labels of a preset."""
    if name not in PRESETS:
        raise ValueError(f"there is no data set {name!r:.50}.")
    return PRESETS[name][1]()


def table_of(name: str) -> Table | None:
    """The whole table behind a preset, or None."""
    return _bundled_table(name) if name in TABLES else None
