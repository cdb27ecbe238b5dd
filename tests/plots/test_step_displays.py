"""Displays of the lectures' steps: what they draw is the step's."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.quiver import Quiver
from PIL import Image
from sklearn.datasets import load_iris

from maxmargin.lectures import (
    coordinate_ascent,
    dual,
    incremental_search,
    kernel_perceptron,
    lagrangian,
    margin_perceptron,
    nearest_hull_points,
    online_perceptron,
    primal,
    smo,
)
from maxmargin.plots import (
    CoordinateAscentDisplay,
    LagrangianDisplay,
    MarginPerceptronDisplay,
    RunDisplay,
    SMOStepDisplay,
    UpdateDisplay,
    UsedPointsDisplay,
    animate,
)

IRIS, SPECIES = load_iris(return_X_y=True)
X, Y = IRIS[:, 2:], np.where(SPECIES == 0, 1, -1)
MEETING, LABELS = IRIS[50:, 2:], SPECIES[50:]


def line_of(ax, label):
    return next(line.get_xydata() for line in ax.lines if line.get_label() == label)


def test_an_update_adds_the_arrow_of_its_point():
    steps = list(online_perceptron(X, Y))
    display = UpdateDisplay.from_steps(steps, X, Y, number=2)
    arrows = {
        one.get_label(): np.array([one.U[0], one.V[0]]) for one in display.ax_[1].collections if isinstance(one, Quiver)
    }
    step = steps[1]
    [i] = step.rows
    assert arrows["w before"] == pytest.approx(display.factor * step.w_before)
    assert arrows["y x"] == pytest.approx(display.factor * Y[i] * X[i])
    assert arrows["new w"] == pytest.approx(arrows["w before"] + arrows["y x"])
    ends = line_of(display.ax_[1], "f(x) = 0")
    assert ends @ step.w + step.b == pytest.approx(0.0, abs=1e-9)
    assert "mistake" in display.ax_[0].get_title()


def test_frames_of_a_run_are_its_steps():
    steps = list(online_perceptron(X, Y))
    display = RunDisplay.from_steps(steps, X, Y, frames=len(steps))
    assert len(display.ax_) == len(steps) + 1
    for ax, step in zip(display.ax_, steps, strict=False):
        assert ax.get_title().startswith(f"step {step.number}: {step.reason}")
        drawn = [line.get_xydata() for line in ax.lines if line.get_label() == "after"]
        for ends in drawn:
            assert ends @ step.w + step.b == pytest.approx(0.0, abs=1e-9)
    curve = display.ax_[-1].lines[0].get_ydata()
    assert curve.tolist() == [np.count_nonzero(step.margins <= 0) for step in steps]
    assert "no mistake" in display.ax_[-1].get_title()


def test_inseparable_data_oscillate():
    display = RunDisplay.from_data(MEETING, LABELS, frames=2)
    assert "no end after" in display.ax_[-1].get_title()
    assert len(set(display.ax_[-1].lines[0].get_ydata())) > 2


@pytest.mark.parametrize(
    "run", [nearest_hull_points(X, Y), smo(X, Y), incremental_search(X, Y)], ids=["hulls", "smo", "search"]
)
def test_other_runs_have_frames_too(run):
    RunDisplay.from_steps(run, X, Y, frames=2).figure_.canvas.draw()


def test_the_band_of_the_margin_perceptron_has_half_the_guess():
    display = MarginPerceptronDisplay.from_data(X, Y)
    assert {int(Y[step.rows[0]]) for step in display.steps} == {-1, 1}
    for ax, step in zip(display.ax_, display.steps, strict=True):
        ends = line_of(ax, "guess/2 from f = 0")
        length = math.hypot(*step.w_before, step.b_before)
        assert (ends @ step.w_before + step.b_before) / length == pytest.approx(0.5 * step.guess)
    with pytest.raises(ValueError, match="gamma must be given: No hyperplane separates"):
        MarginPerceptronDisplay.from_data(MEETING, LABELS)


def test_used_points_of_a_run():
    last = list(online_perceptron(X, Y))[-1]
    assert UsedPointsDisplay.from_steps(last, X, Y).alpha.sum() == last.updates


@pytest.mark.parametrize(("rows", "labels", "C"), [(X, Y, math.inf), (MEETING, np.where(LABELS == 2, 1, -1), 0.5)])
def test_the_lagrangian_is_that_of_the_lectures(rows, labels, C):
    from maxmargin import LinearSVC

    display = LagrangianDisplay.from_data(rows, labels, C=C, tol=1e-9)
    model = LinearSVC(C=C, tol=1e-9).fit(rows, labels)
    w, b, alpha = model.coef_[0], model.intercept_[0], display.alpha
    for s, t in ((1.0, 1.0), (1.5, 0.4), (0.3, 0.9)):
        expected = lagrangian(rows, labels, s * w, s * b, t * alpha, C)
        assert display.lagrangian(s, t) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    for s in (1.2, 1.7):
        assert display.primal(s) == pytest.approx(primal(rows, labels, s * w, s * b, C), rel=1e-5)
    assert display.dual(0.5) == pytest.approx(dual(rows, labels, 0.5 * alpha, C, intercept=False), rel=1e-5)
    t = np.linspace(0.0, display.largest_t, 50)
    assert display.dual(t).max() <= display.primal(1.0) * (1.0 + 1e-6)
    assert display.dual(1.0) == pytest.approx(float(display.primal(1.0)), rel=1e-5)


def test_coordinate_ascent_climbs_on_the_contours_of_the_dual():
    display = CoordinateAscentDisplay.from_data(X, Y)
    pair = list(display.rows)
    for place in display.path:
        assert display.dual(*place) == pytest.approx(dual(X[pair], Y[pair], place, math.inf, intercept=False), abs=1e-9)
    values = display.dual(*display.path.T)
    assert (np.diff(values) >= -1e-12).all()
    assert (np.count_nonzero(np.diff(display.path, axis=0), axis=1) <= 1).all()
    steps = list(coordinate_ascent(X, Y, C=1.0))
    display = CoordinateAscentDisplay.from_steps(steps, X, Y, C=1.0)
    assert display.path[-1] == pytest.approx(steps[-1].alpha[list(display.rows)])
    assert display.dual(*display.path[-1]) == pytest.approx(steps[-1].values["dual"])


def test_a_step_of_smo_stays_on_its_line_and_in_its_box():
    steps = list(smo(MEETING, LABELS, C=1.0, max_steps=30))
    clipped = next(step for step in steps if step.clipped != step.unclipped)
    display = SMOStepDisplay.from_steps(steps, MEETING, LABELS, 1.0)
    assert display.step.number == clipped.number
    drawn = {line.get_label(): line.get_xydata() for line in display.ax_.lines}
    assert tuple(drawn["before"][0]) == clipped.pair_before
    assert tuple(drawn["clipped optimum: after"][0]) == clipped.clipped
    assert sorted(map(tuple, drawn["segment in the box"])) == sorted(clipped.segment)
    gain = float(display.dual(*clipped.clipped) - display.dual(*clipped.pair_before))
    before = next((step.values["dual"] for step in steps if step.number == clipped.number - 1), 0.0)
    assert gain == pytest.approx(clipped.values["dual"] - before)


def test_films_of_both_formats(tmp_path):
    steps = list(online_perceptron(X, Y))
    page = animate(steps, pd.DataFrame(X, columns=["length", "width"]), Y, tmp_path / "run.html").read_text()
    assert page.count("iVBORw0KGgo") == len(steps)
    assert "http" not in page.replace("http://www.w3.org", "")
    animate(steps, X, Y, tmp_path / "run.gif", fps=4)
    with Image.open(tmp_path / "run.gif") as film:
        assert film.format == "GIF"
        # Frames that do not differ are one.
        assert 1 < film.n_frames <= len(steps)
    assert not plt.get_fignums()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["run.gif", "run.html"]


BAD = {
    "suffix": (lambda path: animate(online_perceptron(X, Y), X, Y, path / "run.mp4"), "path must end with .html or .gif"),
    "fps": (lambda path: animate(online_perceptron(X, Y), X, Y, path / "run.gif", fps=0), "fps must be"),
    "no steps": (lambda path: RunDisplay.from_steps([], X, Y), "steps is empty"),
    "no step": (lambda path: RunDisplay.from_steps([1], X, Y), "it has a int"),
    "other rows": (lambda path: RunDisplay.from_steps(online_perceptron(X[:60], Y[:60]), X, Y), "other data"),
    "columns": (lambda path: RunDisplay.from_steps(online_perceptron(IRIS, Y), IRIS, Y), "4 columns"),
    "classes": (lambda path: RunDisplay.from_steps(online_perceptron(X, Y), X, SPECIES), "exactly two"),
    "kernel": (lambda path: RunDisplay.from_steps(kernel_perceptron(X, Y), X, Y), "kernel"),
    "frames": (lambda path: RunDisplay.from_data(X, Y, frames=0), "frames must be"),
    "no guess": (lambda path: MarginPerceptronDisplay.from_steps(online_perceptron(X, Y), X, Y), "GuessStep"),
    "no pair": (lambda path: SMOStepDisplay.from_steps(margin_perceptron(X, Y, 0.1), X, Y, 1.0), "PairStep"),
    "number": (lambda path: UpdateDisplay.from_data(X, Y, number=10**6), "number 1000000"),
    "rows": (lambda path: CoordinateAscentDisplay.from_data(X, Y, rows=(0, 150)), "rows must be"),
    "not separable": (lambda path: LagrangianDisplay.from_data(MEETING, LABELS), "no hyperplane separates|No hyperplane|hulls"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_steps_are_refused_by_name(case, tmp_path):
    call, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        call(tmp_path)
    assert not plt.get_fignums()
    assert not list(tmp_path.iterdir())
