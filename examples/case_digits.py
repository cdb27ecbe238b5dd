"""Case study: handwritten digits with a kernel
============================================

1,797 images of 8 x 8 pixels, ten classes (scikit-learn's digits). A kernel machine solves 45 problems, one for each
pair of digits; every one of them has its own certificate. C and gamma are chosen by cross-validation on the training
part.
"""

# %%
# Data and search
# ---------------
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn import svm
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import GridSearchCV, train_test_split

from maxmargin import SVC, certify

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16.0, y, test_size=0.3, stratify=y, random_state=0)
search = GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0], "gamma": [0.03, 0.1, 0.3]}, cv=3).fit(X_train, y_train)
print(search.best_params_)

# %%
# Beside scikit-learn
# -------------------
# The same problem, C and gamma. LIBSVM stops where no pair of duals violates the KKT conditions by more than 1e-3; here
# the relative duality gap counts, too. ``certify`` proves the gap of both; the decision values show how far they
# are from a nearly exact solution.
exact = SVC(**search.best_params_, tol=1e-9, decision_function_shape="ovo").fit(X_train, y_train)
for name, kind in (("scikit-learn", svm.SVC), ("maxmargin", SVC)):
    machine = kind(**search.best_params_, decision_function_shape="ovo").fit(X_train, y_train)
    began = time.perf_counter()
    machine.fit(X_train, y_train)
    seconds = time.perf_counter() - began
    off = np.abs(machine.decision_function(X_test) - exact.decision_function(X_test)).max()
    gap = max(proof.relative for proof in certify(machine, X_train, y_train).values())
    print(
        f"{name:14} {1e3 * seconds:7.1f} ms   held-out accuracy {machine.score(X_test, y_test):.4f}   "
        f"largest relative gap {gap:.1e}   largest error of a score {off:.1e}"
    )

# %%
# What is proven
# --------------
gaps = {pair: proof.relative for pair, proof in exact.certificate_.items()}
worst = max(gaps, key=gaps.get)
print(f"{len(gaps)} pairs; the largest relative gap is {gaps[worst]:.1e}, of {worst}")

# %%
# Which digits are confused?
# --------------------------
ConfusionMatrixDisplay.from_estimator(exact, X_test, y_test, colorbar=False)
plt.show()
