"""The figures of the lectures
===========================

Every figure is one call of ``maxmargin.plots`` on data of two columns, here the iris and the breast cancer data. Needs
matplotlib, the extra ``plot``. With a folder as argument the pictures are written there:

    python examples/lecture_figures.py FOLDER
"""

import math
import sys
from pathlib import Path

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

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None


def show(display, name):
    """Write the figure into the folder, if there is one."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        print(write_figure(display, folder / f"{name}.png"))
        plt.close(display.figure_)


iris = load_iris(as_frame=True)
X, y = iris.data[["petal length (cm)", "sepal width (cm)"]], iris.target_names[iris.target] == "setosa"
others = iris.target != 0
Z, z = iris.data.loc[others, ["petal length (cm)", "petal width (cm)"]], iris.target_names[iris.target[others]]

# %%
# Perceptrons
# -----------
# One update: w, y·x and the new w, before and after.
show(UpdateDisplay.from_data(X, y), "update")

# %%
# A run, frame by frame, until no mistake is left.
show(RunDisplay.from_data(X, y), "run")

# %%
# The same on classes that no hyperplane separates: the run oscillates.
show(RunDisplay.from_data(Z, z), "oscillation")

# %%
# Points that were used in an update; all others could have been left out.
perceptron = Perceptron(shuffle=False).fit(X, y)
show(UsedPointsDisplay.from_estimator(perceptron, X, y), "used-points")

# %%
# Solutions are not unique: perceptrons from other orders of the points.
show(SeparatorsDisplay.from_data(X, y), "separators")

# %%
# The margin perceptron's band: a positive and a negative point that are too close move the hyperplane.
show(MarginPerceptronDisplay.from_data(X, y), "margin-perceptron")

# %%
# Margins
# -------
# The margin of a hyperplane, narrow and wide.
widest = LinearSVC(C=math.inf).fit(X, y)
show(MarginComparisonDisplay.from_estimators({"narrow": perceptron, "wide": widest}, X, y), "margins")

# %%
# The convex hulls, their nearest points, and the hyperplane halfway between them.
show(HullDisplay.from_data(X, y), "hulls")

# %%
# Small C against large C.
show(MarginComparisonDisplay.from_data(Z, z, Cs=(0.01, 100.0)), "small-and-large-C")

# %%
# Duality
# -------
# The Lagrangian over one w and one alpha, with its saddle point: p* and d* meet there.
show(LagrangianDisplay.from_data(X, y), "lagrangian")

# %%
# Coordinate ascent on the contours of the dual of two variables.
show(CoordinateAscentDisplay.from_data(X, y), "coordinate-ascent")

# %%
# A step of SMO: the box, the line that keeps sum alpha y, the optimum on it, and the clipped one.
show(SMOStepDisplay.from_data(Z, z, 1.0, number=8), "smo-step")

# %%
# Losses and models
# -----------------
# The losses of one point.
show(LossDisplay().plot(), "losses")

# %%
# A kernel machine, its margin and its support vectors.
show(MarginDisplay.from_estimator(SVC().fit(Z, z), Z, z), "svm")

# %%
# Regions of three classes, in four columns: a plane through the data.
species = iris.target_names[iris.target]
show(DecisionRegionDisplay.from_estimator(SVC().fit(iris.data, species), iris.data, species), "regions")

# %%
# Coefficients, margin and score over a path of C.
cancer = load_breast_cancer(as_frame=True)
scaled = (cancer.data - cancer.data.mean()) / cancer.data.std()
show(RegularisationPathDisplay.from_data(scaled, cancer.target), "path")

# %%
# A film
# ------
# ``animate`` writes the frames of a run as one page, or as a GIF.
if folder is not None:
    two = load_iris().data[:, [2, 1]]
    print(animate(online_perceptron(two, load_iris().target == 0), two, load_iris().target == 0, folder / "run.html"))
