"""The end of ``maxmargin demo``: train, verify and predict on files, as an engineer would."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class FileDemo:
    """What came out."""

    commands: list[str]
    trained: str
    verified: bool
    tampered_refused: bool
    test_accuracy: float


def run_on_files() -> FileDemo:
    """Write real data to a file, train from it, verify the model file, tamper with it, and predict new rows."""
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from maxmargin import SVC, CertificateError, certify, load, save
    from maxmargin.files import read_data, write_svmlight

    X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), test_size=0.3, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        text, new, path = (Path(folder) / name for name in ("digits.svm", "new.svm", "digits.model"))
        write_svmlight(text, X, y)
        write_svmlight(new, X_new, y_new)
        data = read_data(text)
        save(SVC().fit(data.X, data.y), path)
        model = load(path)
        proof: Any = certify(model, data.X, data.y)
        model.certificate_.check(proof)
        found = model.predict(read_data(new, like=model).X)
        # Whoever changes the vectors cannot keep the claim.
        model.dual_coef_ = 0.9 * model.dual_coef_
        try:
            model.certificate_.check(certify(model, data.X, data.y))
            refused = False
        except CertificateError:
            refused = True
    worst = max(one.relative for one in proof.values())
    return FileDemo(
        commands=[
            "maxmargin train digits.svm -o digits.model --model svc",
            "maxmargin verify digits.model digits.svm",
            "maxmargin predict digits.model new.svm",
        ],
        trained=f"{len(y):,} rows, 10 classes, {len(proof)} pairs, each within {worst:.1e} of its best objective",
        verified=True,
        tampered_refused=refused,
        test_accuracy=float(np.mean(found == y_new)),
    )
