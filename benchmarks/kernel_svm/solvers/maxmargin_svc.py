"""The package itself."""

from kernel_svm.tool import CACHE_MEGABYTES, Tool
from maxmargin import SVC, SVR

# A gap for which kernel values have to be of double precision.
DOUBLE_PRECISION = 1e-7


class Maxmargin(Tool):
    """The tolerance is the relative duality gap that is proven; the time holds the proof."""

    name = "maxmargin"
    parts = ("fit", "regression", "predict")
    tolerances = (1e-3, 1e-4, 1e-5, 1e-6)
    classifier, regression = SVC, SVR

    def warm_up(self, stop):
        """Compile for both precisions, for whole kernel matrices and for rows of them."""
        super().warm_up(stop)
        for tolerance in (self.tolerances[0], DOUBLE_PRECISION):
            for megabytes in (CACHE_MEGABYTES, 0.001):
                self.model.set_params(tol=tolerance, cache_size=megabytes).fit(self.X, self.y)

    def proof(self):
        """The worst gap of all pairs."""
        certificate = self.model.certificate_
        each = certificate.values() if hasattr(certificate, "values") else [certificate]
        return {"worst gap": max(one.relative for one in each)}
