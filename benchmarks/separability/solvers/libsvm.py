"""LIBSVM through scikit-learn, with a C so large that no point is allowed inside the margin."""

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC

from separability.tool import Tool


class Libsvm(Tool):
    """``SVC(kernel="linear", C=1e10)``."""

    name = "LIBSVM"
    tolerances = (1e-3, 1e-6, 1e-8)

    def set_data(self, X, y):
        """It takes sparse rows with indices of 32 bits."""
        super().set_data(X, y)
        self.own = sp.csr_matrix(X)
        self.own.indices, self.own.indptr = self.own.indices.astype(np.int32), self.own.indptr.astype(np.int32)

    def run(self, stop):
        """Fit."""
        model = SVC(kernel="linear", C=1e10, tol=stop.tolerance, cache_size=1000).fit(self.own, self.y)
        coef = model.coef_
        self.w = (coef.toarray() if sp.issparse(coef) else np.asarray(coef)).ravel()
        self.b = float(model.intercept_[0])
