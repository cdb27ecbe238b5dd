"""LIBSVM through scikit-learn."""

from sklearn.svm import SVC, SVR

from kernel_svm.tool import Tool


class Libsvm(Tool):
    """Its default tolerance, dense rows."""

    name = "LIBSVM"
    parts = ("fit", "regression", "predict")
    classifier, regression = SVC, SVR
