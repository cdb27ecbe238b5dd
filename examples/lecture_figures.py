"""The figures of the lectures, and those of a model, on the iris and breast cancer data.

    python examples/lecture_figures.py FOLDER [--format png]

Every figure is one call of maxmargin.plots on data of two columns; docs/plots.md explains them. Needs matplotlib, the
extra "plot".
"""

import argparse
import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_iris

from maxmargin import SVC, LinearSVC, Perceptron
from maxmargin.lectures import online_perceptron
from maxmargin.plots import (
    CoordinateAscentDisplay,
    DecisionRegionDisplay,
    HullDisplay,
    LagrangianDisplay,
    LossDisplay,
    MarginComparisonDisplay,
    MarginDisplay,
    MarginPerceptronDisplay,
    RegularisationPathDisplay,
    RunDisplay,
    SeparatorsDisplay,
    SMOStepDisplay,
    UpdateDisplay,
    UsedPointsDisplay,
    animate,
    write_figure,
)


def figures():
    """Yield the name and the display of every figure."""
    iris = load_iris(as_frame=True)
    X, y = iris.data[["petal length (cm)", "sepal width (cm)"]], iris.target_names[iris.target] == "setosa"
    others = iris.target != 0
    Z, z = iris.data.loc[others, ["petal length (cm)", "petal width (cm)"]], iris.target_names[iris.target[others]]
    perceptron = Perceptron(shuffle=False).fit(X, y)
    yield "update", UpdateDisplay.from_data(X, y)
    yield "run", RunDisplay.from_data(X, y)
    yield "oscillation", RunDisplay.from_data(Z, z)
    yield "used-points", UsedPointsDisplay.from_estimator(perceptron, X, y)
    yield "separators", SeparatorsDisplay.from_data(X, y)
    widest = LinearSVC(C=math.inf).fit(X, y)
    yield "margins", MarginComparisonDisplay.from_estimators({"narrow": perceptron, "wide": widest}, X, y)
    yield "hulls", HullDisplay.from_data(X, y)
    yield "lagrangian", LagrangianDisplay.from_data(X, y)
    yield "coordinate-ascent", CoordinateAscentDisplay.from_data(X, y)
    yield "smo-step", SMOStepDisplay.from_data(Z, z, 1.0, number=8)
    yield "losses", LossDisplay().plot()
    yield "small-and-large-C", MarginComparisonDisplay.from_data(Z, z, Cs=(0.01, 100.0))
    yield "margin-perceptron", MarginPerceptronDisplay.from_data(X, y)
    yield "svm", MarginDisplay.from_estimator(SVC().fit(Z, z), Z, z)
    species = iris.target_names[iris.target]
    yield "regions", DecisionRegionDisplay.from_estimator(SVC().fit(iris.data, species), iris.data, species)
    cancer = load_breast_cancer(as_frame=True)
    scaled = (cancer.data - cancer.data.mean()) / cancer.data.std()
    yield "path", RegularisationPathDisplay.from_data(scaled, cancer.target)


def main():
    """Write all figures, and a film of the perceptron's run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, display in figures():
        print(write_figure(display, arguments.folder / f"{name}.{arguments.format}"))
        plt.close(display.figure_)
    iris = load_iris()
    X, y = iris.data[:, [2, 1]], iris.target == 0
    print(animate(online_perceptron(X, y), X, y, arguments.folder / "run.html"))


if __name__ == "__main__":
    main()
