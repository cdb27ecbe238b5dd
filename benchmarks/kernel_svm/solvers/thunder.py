"""ThunderSVM's build for processors."""

import os

from thundersvm import SVC, SVR

from kernel_svm.tool import Tool


class ThunderSvm(Tool):
    """Its default tolerance, all cores; how much it caches is its own affair."""

    name = "ThunderSVM"

    classifier, regression = SVC, SVR

    def make(self, stop):
        """It has no cache_size."""
        return self.of_kind(stop.machine, tol=stop.tolerance, n_jobs=os.cpu_count())
