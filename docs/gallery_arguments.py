"""Arguments of the examples when the gallery runs them: those that draw are asked for their picture."""

import tempfile
from pathlib import Path

FOLDER = Path(tempfile.gettempdir())
PICTURES = {
    "accelerated_perceptron": ["--picture", str(FOLDER / "cost.png")],
    "lecture_smo": ["--picture", str(FOLDER / "smo.png")],
    "theorems": ["--picture", str(FOLDER / "ratios.png")],
    "three_losses": ["--output", str(FOLDER / "three_losses.png")],
}


def arguments_of(_settings: dict, script: dict) -> list[str]:
    """Return the command line of an example."""
    return PICTURES.get(Path(script["src_file"]).stem, [])
