"""The multi-core version of LIBLINEAR through its own Python interface."""

import numpy as np
from liblinear.liblinearutil import parameter, problem, train
from scipy.sparse import csr_matrix

from linear_svm.tool import Tool

THREADS = 2


class LiblinearMulticore(Tool):
    """Coordinate ascent on the dual with two threads."""

    name = "LIBLINEAR multi-core"
    parts = ("race",)
    tolerances = (1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5)
    remark = (
        f"`-s 3 -m {THREADS}`, with the data converted beforehand; it ends after 300 iterations whatever the tolerance"
    )

    def set_data(self, X, y):
        """Convert the data to LIBLINEAR's own structure."""
        super().set_data(X, y)
        self.problem = problem(y.astype(np.float64), csr_matrix(X))

    def run(self, stop):
        """Fit all classes."""
        self.stop = stop
        options = parameter(f"-s 3 -c {stop.C!r} -e {stop.tolerance!r} -m {THREADS} -q")
        self.model = train(self.problem, options)

    def get_result(self):
        """Bring the hyperplanes into the order of the classes."""
        labels = np.array(self.model.get_labels())
        n_tasks = self.signs.shape[0]
        columns = np.ctypeslib.as_array(self.model.w, (self.X.shape[1], n_tasks))
        # With two classes, the first label that it met is the positive one.
        self.hyperplanes = columns.T * labels[0] if n_tasks == 1 else columns.T[np.argsort(labels)]
        return super().get_result()
