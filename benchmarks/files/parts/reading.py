"""Reading svmlight text."""

import numpy as np

from measure import InTurn, duration, median_ratio, median_seconds, yes_or_no

WANTED = 10.0
MEGABYTE = 1e6


class Reading(InTurn):
    """Our reader beside scikit-learn's."""

    name = "reading"
    title = "reading: svmlight text"
    text = (
        "`maxmargin.files.read_svmlight` beside `sklearn.datasets.load_svmlight_file`, plain text. The ratio is the "
        f"median of the rounds' scikit-learn / ours. Wanted: at least {WANTED:g}, and the same bits."
    )

    def row(self, dataset, data, runs):
        """Compare times and arrays."""
        ours, rival = runs["maxmargin"], runs["scikit-learn"]
        (X, y), (other, labels) = ours[0].result["arrays"], rival[0].result["arrays"]
        same = np.array_equal(X.data, other.data) and np.array_equal(X.indices, other.indices)
        same = same and np.array_equal(X.indptr, other.indptr) and np.array_equal(y, labels)
        ratio = 1.0 / median_ratio(ours, rival)
        size = data["X"].stat().st_size / MEGABYTE
        return {
            "data": dataset.name,
            "size": f"{size:.0f} MB",
            "ours": duration(median_seconds(ours)),
            "MB/s": f"{size / median_seconds(ours):.0f}",
            "scikit-learn": duration(median_seconds(rival)),
            "ratio": f"{ratio:.1f}" if ratio >= WANTED else f"**{ratio:.1f}**",
            "same bits": yes_or_no(same),
        }
