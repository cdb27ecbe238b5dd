"""Regressions as ONNX graphs."""

import numpy as np
import pytest

from maxmargin import (
    BayesianRegression,
    Lasso,
    Ridge,
)
from maxmargin.files import write_onnx
from regression_cases import X, Y


@pytest.mark.parametrize("model", [Ridge(lam=0.1), Lasso(lam=20.0), BayesianRegression()], ids=str)
def test_other_programs_predict_the_same(model, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    write_onnx(model.fit(X, Y), tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["value"], {"X": X})[0], model.predict(X), rtol=1e-10)
