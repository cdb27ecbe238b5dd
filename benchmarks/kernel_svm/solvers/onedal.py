"""oneDAL through scikit-learn-intelex."""

from sklearnex.svm import SVC, SVR

from kernel_svm.tool import Tool


class OneDal(Tool):
    """Its default tolerance, dense rows, all cores."""

    name = "oneDAL"
    parts = ("fit", "regression", "predict")
    classifier, regression = SVC, SVR
