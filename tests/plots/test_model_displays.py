"""Displays of models: what they draw is the model's, on any kind of data."""

import math
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from maxmargin import (
    SVC,
    SVR,
    BayesianRegression,
    KernelPerceptron,
    Lasso,
    LimitWarning,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
    Ridge,
    margins,
    svm_path,
)
from maxmargin.plots import (
    BracketDisplay,
    CoefficientDisplay,
    DecisionRegionDisplay,
    GapDisplay,
    HullDisplay,
    LassoPathDisplay,
    LossDisplay,
    MarginComparisonDisplay,
    MarginDisplay,
    MistakeDisplay,
    PosteriorDisplay,
    PredictionDisplay,
    RegularisationPathDisplay,
    SeparatorsDisplay,
    UsedPointsDisplay,
    draw,
)

IRIS, SPECIES = load_iris(return_X_y=True)
PETALS = IRIS[50:, 2:]
TWO = SPECIES[50:]
NAMES = np.array(["setosa", "versicolor", "virginica"])


def line_named(ax, label):
    [line] = [line for line in ax.lines if line.get_label() == label]
    return line.get_xydata()


def lines_of(ax, style):
    return [line.get_xydata() for line in ax.lines if line.get_linestyle() == style and len(line.get_xdata()) == 2]


def marked(ax, name):
    """The places of the scatter whose legend starts with a name."""
    found = [one for one in ax.collections if str(one.get_label()).startswith(name)]
    return np.vstack([one.get_offsets() for one in found]) if found else np.empty((0, 2))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_lines_are_the_models_hyperplanes(loss):
    model = LinearSVC(C=0.3, loss=loss).fit(PETALS, TWO)
    ax = MarginDisplay.from_estimator(model, PETALS, TWO).ax_
    for share in (0.0, 0.3, 1.0):
        start, end = line_named(ax, "f(x) = 0")
        assert model.decision_function([start + share * (end - start)]) == pytest.approx(0.0, abs=1e-9)
    values = sorted(float(model.decision_function([0.5 * (start + end)])[0]) for start, end in lines_of(ax, "--"))
    assert values == pytest.approx([-1.0, 1.0], abs=1e-9)


@pytest.mark.parametrize(
    "model",
    [LinearSVC(C=0.3), LinearSVC(C=20.0, loss="squared_hinge"), SVC(C=2.0), SVC(kernel="linear"), SVC(kernel="poly")],
    ids=repr,
)
def test_support_vectors_are_marked_by_the_classes_that_the_certificate_counts(model):
    ax = MarginDisplay.from_estimator(model.fit(PETALS, TWO), PETALS, TWO).ax_
    proof = model.certificate_
    counts = [len(marked(ax, name)) for name in ("on the margin", "inside the margin", "misclassified")]
    assert counts == [proof.on_margin, proof.inside, proof.misclassified]
    rows = {tuple(place) for name in ("on the margin", "inside", "misclassified") for place in marked(ax, name)}
    assert rows == {tuple(place) for place in PETALS[model.support_]}


def test_points_with_weights_keep_their_classes():
    weights = np.where(np.arange(len(TWO)) % 5 == 0, 0.0, 2.0)
    model = LinearSVC(C=0.3, class_weight="balanced").fit(PETALS, TWO, sample_weight=weights)
    ax = MarginDisplay.from_estimator(model, PETALS, TWO, sample_weight=weights).ax_
    proof = model.certificate_
    counts = [len(marked(ax, name)) for name in ("on the margin", "inside the margin", "misclassified")]
    assert counts == [proof.on_margin, proof.inside, proof.misclassified]


def test_the_parallel_hyperplanes_of_a_perceptron_go_through_the_nearest_points():
    X, y = IRIS[:, 2:], SPECIES == 0
    model = Perceptron().fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    smallest = margins(X, y, model.coef_[0], model.intercept_[0])
    assert display.levels == pytest.approx((-smallest.functional.min(), 0.0, smallest.functional.min()))
    assert f"{smallest.smallest:.3g}" in display.ax_.get_title()
    assert display.marked["nearest points"] == [smallest.functional.argmin()]


def test_a_model_that_does_not_separate_has_no_margin_drawn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        model = Perceptron(max_iter=5).fit(PETALS, TWO)
    display = MarginDisplay.from_estimator(model, PETALS, TWO)
    wrong = int((model.predict(PETALS) != TWO).sum())
    assert f"{wrong} points misclassified" in display.ax_.get_title()
    assert display.levels == (0.0,)


def test_more_columns_are_shown_by_the_exact_score():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    model = LinearSVC(C=0.1).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    assert display.view.points[:, 0] == pytest.approx(model.decision_function(X))
    assert "all 30 columns: f(x) is exact" in display.ax_.get_title()
    # The other coordinate is orthogonal to w: it changes along no direction in which only f changes.
    along = display.view.points[:, 1]
    unit = model.coef_[0] / np.linalg.norm(model.coef_)
    within = (X - X.mean(axis=0)) - np.outer((X - X.mean(axis=0)) @ unit, unit)
    direction = np.linalg.svd(within, full_matrices=False)[2][0]
    assert np.abs(np.corrcoef(along, within @ direction)[0, 1]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("fixed", ["mean", "median"])
def test_two_chosen_columns_show_the_slice_of_the_model(fixed):
    frame = load_breast_cancer(as_frame=True)
    X, y = (frame.data - frame.data.mean()) / frame.data.std(), frame.target
    model = LinearSVC(C=0.1).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, columns=("mean texture", "worst area"), fixed=fixed)
    assert f"slice: the other 28 columns at their {fixed}s" in " ".join(display.ax_.get_title().split())
    row = getattr(X, fixed)()
    row["mean texture"], row["worst area"] = line_named(display.ax_, "f(x) = 0")[1]
    assert model.decision_function(row.to_frame().T)[0] == pytest.approx(0.0, abs=1e-8)
    assert display.ax_.get_xlabel() == "mean texture"


@pytest.mark.parametrize("columns", ["pca", (0, 3)])
def test_regions_are_what_the_model_predicts_on_the_plane(columns):
    model = LinearSVC().fit(IRIS, NAMES[SPECIES])
    display = DecisionRegionDisplay.from_estimator(model, IRIS, NAMES[SPECIES], columns=columns, grid=20)
    places = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    if columns == "pca":
        centred = IRIS - IRIS.mean(axis=0)
        directions = np.linalg.svd(centred)[2][:2]
        directions *= np.sign(np.sum(directions * display.view.basis, axis=1))[:, None]
        rows = IRIS.mean(axis=0) + places @ directions
    else:
        rows = np.tile(IRIS.mean(axis=0), (len(places), 1))
        rows[:, list(columns)] = places
    assert (model.classes_[display.response.ravel().astype(int)] == model.predict(rows)).mean() > 0.999
    title = " ".join(display.ax_.get_title().split())
    assert f"{display.n_elsewhere} of 150 points lie in another region than predicted" in title
    assert ("principal components" in title) == (columns == "pca")


def test_regions_of_two_classes_change_where_the_score_is_zero():
    model = SVC().fit(PETALS, TWO)
    display = DecisionRegionDisplay.from_estimator(model, PETALS, TWO, grid=30)
    places = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert display.response.ravel() == pytest.approx(model.decision_function(places))
    assert display.n_elsewhere == 0
    assert "slice" not in display.ax_.get_title()


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(10, random_state=0), make_pipeline(StandardScaler(), LinearSVC())],
    ids=["forest", "pipe"],
)
def test_regions_of_any_classifier(model):
    display = DecisionRegionDisplay.from_estimator(model.fit(IRIS, SPECIES), IRIS, SPECIES, columns=(2, 3), grid=15)
    assert set(np.unique(display.response)) <= {0, 1, 2}


KINDS_OF_ROWS = {
    "sparse": sp.csr_array,
    "pandas": lambda X: pd.DataFrame(X, columns=["length", "width"]),
    "polars": lambda X: pl.DataFrame(X, schema=["length", "width"]),
}
ROWS = PETALS[::2]
LABELS = NAMES[TWO[::2]]
DRAWN = {
    "margin": lambda X, y: MarginDisplay.from_estimator(LinearSVC().fit(X, y), X, y),
    "kernel margin": lambda X, y: MarginDisplay.from_estimator(SVC().fit(X, y), X, y),
    "regions": lambda X, y: DecisionRegionDisplay.from_estimator(SVC().fit(X, y), X, y, grid=10),
    "comparison": lambda X, y: MarginComparisonDisplay.from_data(X, y),
    "used": lambda X, y: UsedPointsDisplay.from_estimator(LinearSVC().fit(X, y), X, y),
    "separators": lambda X, y: SeparatorsDisplay.from_estimators([LinearSVC().fit(X, y)], X, y),
    "hulls": lambda X, y: HullDisplay.from_data(X, y),
    "losses": lambda X, y: LossDisplay.from_estimator(LogisticRegression(C=1.0).fit(X, y), X, y),
    "path": lambda X, y: RegularisationPathDisplay.from_data(X, y, Cs=[0.1, 1.0], cv=2),
    "coefficients": lambda X, y: CoefficientDisplay.from_estimator(LinearSVC().fit(X, y)),
}


@pytest.mark.parametrize("kind", KINDS_OF_ROWS)
@pytest.mark.parametrize("name", DRAWN)
def test_every_display_takes_all_kinds_of_rows_and_string_labels(name, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        display = DRAWN[name](KINDS_OF_ROWS[kind](ROWS), LABELS)
    display.figure_.canvas.draw()
    if kind in ("pandas", "polars") and name in ("margin", "regions", "used", "hulls"):
        assert display.ax_.get_xlabel() == "length"
    if name == "margin":
        assert "virginica" in [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_wide_sparse_rows():
    rows = sp.random_array((120, 20_000), density=0.002, rng=np.random.default_rng(0), format="csr")
    y = np.where(np.asarray(rows.sum(axis=1)).ravel() > 20.0, "much", "little")
    model = LinearSVC().fit(rows, y)
    display = MarginDisplay.from_estimator(model, rows, y)
    assert display.view.points[:, 0] == pytest.approx(model.decision_function(rows))
    display = DecisionRegionDisplay.from_estimator(model, rows, y, columns=(5, 17), fixed="median", grid=4)
    assert "19,998 columns at their medians" in " ".join(display.ax_.get_title().split())


def test_bars_of_brackets_are_the_certificates_numbers():
    X, y = IRIS[:, 2:], SPECIES == 0
    models = {"a": Perceptron().fit(X, y), "b": MarginPerceptron().fit(X, y)}
    ax = BracketDisplay.from_estimators(models).ax_
    brackets = [models["a"].certificate_.bracket, models["b"].certificate_]
    for bar, bracket in zip(ax.patches, brackets, strict=True):
        assert bar.get_x() == pytest.approx(bracket.lower)
        assert bar.get_x() + bar.get_width() == pytest.approx(bracket.upper)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert bracket.space in ax.get_xlabel()
    assert len(BracketDisplay.from_estimator(MarginPerceptron().fit(IRIS[:100], SPECIES[:100])).brackets) == 1


def test_gaps_are_those_of_the_history_and_of_the_certificate():
    model = LinearSVC(tol=1e-6).fit(IRIS, SPECIES)
    display = GapDisplay.from_estimator(model)
    assert [display.certified[f"y = {k}"] for k in range(3)] == [model.certificate_[k].relative for k in range(3)]
    seconds, primal, dual = model.history_[1][-1]
    assert display.curves["y = 1"][-1] == pytest.approx([seconds, (primal - dual) / primal])
    assert any(line.get_ydata()[0] == 1e-6 for line in display.ax_.lines)


def test_mistakes_stand_against_their_bound():
    model = Perceptron().fit(IRIS[:, 2:], SPECIES == 0)
    ax = MistakeDisplay.from_estimator(model).ax_
    curve, bound = ax.lines
    assert curve.get_ydata()[-1] == model.n_updates_ == model.certificate_.mistakes
    assert bound.get_ydata()[0] == model.certificate_.bound
    assert f"{model.certificate_.bound:,.0f}" in bound.get_label()


def test_coefficients_have_the_names_of_their_columns():
    frame = load_diabetes(as_frame=True)
    model = Lasso(lam=100.0).fit(frame.data, frame.target)
    ax = CoefficientDisplay.from_estimator(model, top=3).ax_
    drawn = {label.get_text(): bar.get_width() for label, bar in zip(ax.get_yticklabels(), ax.patches, strict=True)}
    largest = np.argsort(-np.abs(model.coef_))[:3]
    assert drawn == pytest.approx({frame.data.columns[j]: model.coef_[j] for j in largest})
    assert "5 are zero" in ax.get_title()
    assert len(CoefficientDisplay.from_estimator(LinearSVC().fit(IRIS, SPECIES)).ax_) == 3


def test_intervals_are_those_of_the_posterior():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = BayesianRegression().fit(X, y)
    display = PosteriorDisplay.from_estimator(model, level=0.8)
    order = [list(X.columns).index(name) for name in display.names]
    assert display.intervals == pytest.approx(model.credible_interval(0.8)[order])
    along = PredictionDisplay.from_estimator(model, X, y, column="bp", level=0.8)
    rows = np.tile(X.mean().to_numpy(), (len(along.places), 1))
    rows[:, list(X.columns).index("bp")] = along.places
    frame = pd.DataFrame(rows, columns=X.columns)
    assert along.bands["80 % predictive interval"] == pytest.approx(model.predictive_interval(frame, 0.8))
    assert along.values == pytest.approx(model.predict(frame))
    # The mean's interval, from draws of the posterior.
    sample = model.sample(4000, random_state=0)
    ends = np.quantile(sample.coef @ rows[0] + sample.intercept, [0.1, 0.9])
    width = along.bands["80 % interval of the mean"][0]
    assert width == pytest.approx(ends, abs=0.1 * (ends[1] - ends[0]))


@pytest.mark.parametrize("model", [LinearSVR(epsilon=0.3), SVR(epsilon=0.3)], ids=repr)
def test_the_tube_and_the_support_vectors_of_a_regression(model):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), scale(y)
    display = PredictionDisplay.from_estimator(model.fit(X, y), X, y, column=2)
    [band] = display.bands.values()
    assert band[:, 1] - band[:, 0] == pytest.approx(0.6)
    assert len(display.marked["residual of epsilon"]) == model.certificate_.on_boundary
    assert len(display.marked["larger residual"]) == model.certificate_.beyond_epsilon


def test_the_paths_are_those_of_the_models():
    X, y = load_breast_cancer(return_X_y=True)
    X, Cs = scale(X), [0.001, 0.1, 1.0]
    models = svm_path(X, y, Cs)
    display = RegularisationPathDisplay.from_estimators(models, X_val=X[:100], y_val=y[:100])
    assert display.coefficients == pytest.approx(np.vstack([model.coef_ for model in models]))
    assert display.margins[:, 0] == pytest.approx([model.margin_ for model in models])
    assert display.scores[:, 0].tolist() == [model.score(X[:100], y[:100]) for model in models]
    assert len(display.ax_) == 3
    X, y = load_diabetes(return_X_y=True)
    lasso = LassoPathDisplay.from_data(X, y, n_lams=6)
    assert not lasso.coefficients[-1].any()
    assert lasso.coefficients[-2].any()
    for lam, coef in zip(lasso.lams, lasso.coefficients, strict=True):
        assert coef == pytest.approx(Lasso(lam=lam, tol=1e-8).fit(X, y).coef_, abs=2.0)


def test_hulls_contain_the_points_and_the_line_halves_their_distance():
    X, y = IRIS[:, 2:], SPECIES == 0
    display = HullDisplay.from_data(X, y)
    middle = display.found.points.mean(axis=0)
    w, b = display.found.coef, display.found.intercept
    assert w @ middle + b == pytest.approx(0.0, abs=1e-9)
    ends = line_named(display.ax_, "halfway hyperplane")
    assert ends @ w + b == pytest.approx(0.0, abs=1e-9)
    assert margins(X, y, w, b).smallest == pytest.approx(0.5 * display.found.distance.lower, rel=1e-5)
    assert "no hyperplane separates" in " ".join(HullDisplay.from_data(PETALS, TWO).ax_.get_title().split())
    line = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 3.0]])
    assert HullDisplay.from_data(line, [0, 0, 0, 1]).found.distance.lower > 0.0
    assert "principal" in HullDisplay.from_data(IRIS, SPECIES == 0, columns="pca").ax_.get_title()


def test_used_points_are_those_with_a_dual():
    model = KernelPerceptron().fit(IRIS[:, 2:], SPECIES == 0)
    display = UsedPointsDisplay.from_estimator(model, IRIS[:, 2:], SPECIES == 0)
    assert np.flatnonzero(display.alpha).tolist() == sorted(model.support_.tolist())
    X, y = IRIS[:, 2:], SPECIES == 0
    model = Perceptron().fit(X, y)
    display = UsedPointsDisplay.from_estimator(model, X, y)
    assert (2 * y - 1) * display.alpha @ X == pytest.approx(model.coef_[0])


def test_axes_are_honoured():
    model = LinearSVC().fit(PETALS, TWO)
    figure, axes = plt.subplots(1, 3)
    display = MarginDisplay.from_estimator(model, PETALS, TWO, ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    compared = MarginComparisonDisplay.from_estimators([model, model], PETALS, TWO, ax=axes[1:])
    assert list(compared.ax_) == list(axes[1:])
    assert plt.get_fignums() == [figure.number]
    # One Axes is divided, and a display can be drawn again elsewhere.
    figure, ax = plt.subplots()
    again = compared.plot(ax)
    assert len(again.ax_) == 2
    assert again.figure_ is figure
    with pytest.raises(ValueError, match="ax must be one Axes, or 2 of them"):
        compared.plot([ax])


def test_losses_are_those_of_the_lectures():
    ax = LossDisplay().plot().ax_
    curves = {line.get_label().split(":")[0]: line.get_xydata() for line in ax.lines}
    at = {name: np.interp(-1.0, *curve[np.isfinite(curve[:, 1])].T) for name, curve in curves.items()}
    expected = {"0-1": 1.0, "perceptron": 1.0, "hinge": 2.0, "squared hinge": 4.0, "logistic": math.log(1 + math.e)}
    assert {name: at[name] for name in expected} == pytest.approx(expected, abs=1e-4)
    model = LinearSVC().fit(PETALS, TWO)
    shown = LossDisplay.from_estimator(model, PETALS, TWO).margins
    assert shown == pytest.approx(margins(PETALS, TWO, model.coef_[0], model.intercept_[0]).functional)


def test_separators_count_their_mistakes():
    display = SeparatorsDisplay.from_data(IRIS[:, 2:], SPECIES == 0, n=3)
    assert set(display.mistakes.values()) == {0}
    assert "4 of 4 hyperplanes separate" in display.ax_.get_title()
    model = LinearSVC().fit(PETALS, TWO)
    display = SeparatorsDisplay.from_estimators({"svm": model}, PETALS, TWO)
    assert display.mistakes["svm"] == int((model.predict(PETALS) != TWO).sum())


def test_what_suits_a_model_is_drawn():
    X, y = load_diabetes(return_X_y=True)
    assert isinstance(draw(Ridge().fit(X, y), X, y), PredictionDisplay)
    assert isinstance(draw(LinearSVC().fit(IRIS, SPECIES), IRIS, SPECIES), DecisionRegionDisplay)
    assert isinstance(draw(LinearSVC().fit(PETALS, TWO), PETALS, TWO), MarginDisplay)


BAD = {
    "one column": (lambda m: MarginDisplay.from_estimator(LinearSVC().fit(PETALS[:, :1], TWO), PETALS[:, :1], TWO), "one column"),
    "no such column": (lambda m: MarginDisplay.from_estimator(m, PETALS, TWO, columns=("a", "b")), "'a'"),
    "column too large": (lambda m: MarginDisplay.from_estimator(m, PETALS, TWO, columns=(0, 7)), "columns 0 to 1"),
    "same column": (lambda m: MarginDisplay.from_estimator(m, PETALS, TWO, columns=(1, 1)), "two different"),
    "three columns": (lambda m: MarginDisplay.from_estimator(m, PETALS, TWO, columns=(0, 1, 1)), "two columns"),
    "columns a word": (lambda m: DecisionRegionDisplay.from_estimator(m, PETALS, TWO, columns="score"), "'pca'"),
    "fixed": (lambda m: MarginDisplay.from_estimator(m, PETALS, TWO, fixed="mode"), "fixed must be"),
    "other rows": (lambda m: MarginDisplay.from_estimator(m, PETALS[:9], TWO[:9]), "9 rows"),
    "short y": (lambda m: MarginDisplay.from_estimator(m, PETALS, TWO[:9]), "y must have"),
    "unknown label": (lambda m: DecisionRegionDisplay.from_estimator(m, PETALS, TWO + 5), "does not know"),
    "three classes": (lambda m: MarginDisplay.from_estimator(LinearSVC().fit(IRIS, SPECIES), IRIS, SPECIES), "two classes"),
    "a regression": (lambda m: MarginDisplay.from_estimator(Ridge().fit(PETALS, TWO), PETALS, TWO), "PredictionDisplay"),
    "a classifier": (lambda m: PredictionDisplay.from_estimator(m, PETALS, TWO), "regressions"),
    "no bracket": (lambda m: BracketDisplay.from_estimator(m), "margin bracket"),
    "no bound": (lambda m: MistakeDisplay.from_estimator(m), "mistake bound"),
    "no history": (lambda m: GapDisplay.from_estimator(Perceptron().fit(IRIS, SPECIES == 0)), "history_"),
    "no posterior": (lambda m: PosteriorDisplay.from_estimator(m), "BayesianRegression"),
    "no coefficients": (lambda m: CoefficientDisplay.from_estimator(SVC().fit(PETALS, TWO)), "coef_"),
    "names": (lambda m: CoefficientDisplay.from_estimator(m, feature_names=["a"]), "feature_names"),
    "top": (lambda m: CoefficientDisplay.from_estimator(m, top=0), "top"),
    "loss": (lambda m: LossDisplay(["hing"]), "hing"),
    "kind": (lambda m: draw(m, PETALS, TWO, kind="pie"), "kind must be"),
    "gram": (lambda m: MarginDisplay.from_estimator(SVC(kernel="precomputed").fit(PETALS @ PETALS.T, TWO), PETALS @ PETALS.T, TWO), "Gram"),
    "no models": (lambda m: MarginComparisonDisplay.from_estimators([], PETALS, TWO), "estimators is empty"),
    "no separators": (lambda m: SeparatorsDisplay.from_estimators({}, PETALS, TWO), "estimators is empty"),
    "no brackets": (lambda m: BracketDisplay.from_estimators([]), "estimators is empty"),
    "not fitted": (lambda m: MarginDisplay.from_estimator(LinearSVC(), PETALS, TWO), "fitted"),
    "not finite": (lambda m: HullDisplay.from_data([[math.nan, 1.0], [0.0, 1.0]], [0, 1]), "NaN"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_by_name(case):
    call, words = BAD[case]
    model = LinearSVC().fit(PETALS, TWO)
    with pytest.raises((ValueError, AttributeError), match=words):
        call(model)
    assert not plt.get_fignums()
