"""Loads data in a fresh process, fits once, and prints as JSON by how many bytes the process grew meanwhile."""

import sys
from pathlib import Path

from linear_svm.fit_memory import report_rise
from maxmargin import SVC
from processes import load_data

CACHE_MEGABYTES = 200


def main(folder: Path) -> None:
    """Compare the resident memory before the fit with its peak during the fit."""
    X, y = load_data(folder)

    def fit(rows, labels):
        model = SVC(C=10.0, cache_size=CACHE_MEGABYTES).fit(rows, labels)
        proof = model.certificate_
        return max(one.relative for one in (proof.values() if hasattr(proof, "values") else [proof]))

    report_rise(X, y, fit, cache=CACHE_MEGABYTES * 2**20)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
