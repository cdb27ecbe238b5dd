"""Case study: regression with a statement of uncertainty
======================================================

442 patients, ten measurements, the progress of their diabetes one year later (Efron, Hastie, Johnstone, Tibshirani,
"Least angle regression", 2004). Three questions: how well can the progress be predicted, which measurements matter, and
how sure are we?
"""

# %%
# How well?
# ---------
# Nested cross-validation: lambda is chosen inside, the score is from the folds outside.
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso as TheirLasso
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import BayesianRegression, Lasso, LinearSVR, Ridge, certify

X, y = load_diabetes(return_X_y=True, as_frame=True)
for name, machine, grid in (
    ("ridge", Ridge(), {"ridge__alpha": np.geomspace(0.1, 1000.0, 9)}),
    ("lasso", Lasso(), {"lasso__alpha": np.geomspace(0.01, 30.0, 9)}),
    ("support vectors", LinearSVR(), {"linearsvr__C": np.geomspace(0.01, 10.0, 9)}),
):
    search = GridSearchCV(make_pipeline(StandardScaler(), machine), grid)
    scores = cross_val_score(search, X, y)
    print(f"{name:16} held-out R² {scores.mean():.3f} (from {scores.min():.3f} to {scores.max():.3f})")

# %%
# Which measurements?
# -------------------
# The lasso proves more than that some coefficients are zero: they are zero in *every* optimum.
rows = StandardScaler().fit_transform(X)
lasso = Lasso(alpha=3.0).fit(rows, y)
print(lasso.certificate_)
print("of no use:", [name for name, c in zip(X.columns, lasso.coef_, strict=True) if c == 0.0])

# %%
# The same model in scikit-learn: held-out score, time, and the gap that is proven for each.
for name, kind in (("scikit-learn", TheirLasso), ("maxmargin", Lasso)):
    held_out = cross_val_score(make_pipeline(StandardScaler(), kind(alpha=3.0)), X, y).mean()
    times = []
    for _ in range(20):
        began = time.perf_counter()
        model = kind(alpha=3.0).fit(rows, y)
        times.append(time.perf_counter() - began)
    gap = certify(model, rows, y).relative
    print(f"{name:14} {1e3 * np.median(times):6.2f} ms   relative gap {gap:.1e}   held-out R² {held_out:.4f}")

# %%
# How sure?
# ---------
# Under the prior 1/sigma² the posterior is known in closed form. Of 90 % intervals for new patients, 90 % should hold.
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
bayes = BayesianRegression().fit(X_train, y_train)
lower, upper = bayes.predictive_interval(X_test, 0.9).T
inside = ((lower <= y_test) & (y_test <= upper)).mean()
print(f"{inside:.1%} of {len(y_test)} held-out patients are inside their 90 % interval")

from maxmargin.plots import PosteriorDisplay  # noqa: E402

PosteriorDisplay.from_estimator(bayes)
plt.show()
