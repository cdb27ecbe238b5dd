"""Case study: spam among text messages
====================================

5,574 text messages as word counts, 13 % of them spam (Almeida, Gómez Hidalgo, Yamakami, "Contributions to the study of
SMS spam filtering", 2011). Most words occur in few messages: the rows are sparse, and a linear machine is usual.
We scale the counts to tf-idf, choose C by cross-validation on the training part, and look at the held-out part once.
"""

# %%
# Data
# ----
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC as TheirLinearSVC

from maxmargin import LinearSVC, certify
from maxmargin.files import read_svmlight


def data_folder():
    """The folder of the bundled data, seen from the examples or from the documentation."""
    return next(folder for up in (".", "..", "../..") if (folder := Path(up) / "tests" / "datasets").is_dir())


X, y = read_svmlight(data_folder() / "sms-spam.svm.xz")
y = np.where(y > 0, "spam", "ham")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
print(f"{X_train.shape[0]} messages to learn from, {X_test.shape[0]} held out, {X.shape[1]} words")

# %%
# Choose C, fit, and read the certificate
# ---------------------------------------
model = make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(class_weight="balanced"))
search = GridSearchCV(model, {"linearsvc__C": np.geomspace(0.01, 100.0, 9)}, scoring="f1_macro", cv=5)
search.fit(X_train, y_train)
print(f"C = {search.best_params_['linearsvc__C']:g}")
print(search.best_estimator_[-1].certificate_)


# %%
# Beside scikit-learn
# -------------------
# The same problem needs the same loss and the same intercept: scikit-learn penalises it, so we ask for that here. Both
# get the same C, and each its default tolerance; the gap of scikit-learn's model is proven by ``certify``, too.
def row(name, machine):
    """Fit a machine, and print its time, its gap and its held-out scores."""
    tfidf = TfidfTransformer(sublinear_tf=True).fit(X_train)
    rows = tfidf.transform(X_train)
    machine.fit(rows, y_train)
    began = time.perf_counter()
    machine.fit(rows, y_train)
    seconds = time.perf_counter() - began
    predicted = machine.predict(tfidf.transform(X_test))
    precision, recall, f1 = (f(y_test, predicted, pos_label="spam") for f in (precision_score, recall_score, f1_score))
    print(
        f"{name:14} {1e3 * seconds:7.1f} ms   relative gap {certify(machine, rows, y_train).relative:8.1e}   "
        f"precision {precision:.3f}   recall {recall:.3f}   F1 {f1:.3f}"
    )
    return machine


C = search.best_params_["linearsvc__C"]
row("scikit-learn", TheirLinearSVC(C=C, loss="hinge", class_weight="balanced", max_iter=100_000))
ours = row("maxmargin", LinearSVC(C=C, class_weight="balanced", penalize_intercept=True))

# %%
# Which words?
# ------------
# The file has no words, only columns; with a vectoriser their names stand beside the bars.
from maxmargin.plots import CoefficientDisplay  # noqa: E402

CoefficientDisplay.from_estimator(ours)
plt.show()
