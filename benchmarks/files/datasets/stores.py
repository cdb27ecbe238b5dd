"""A store on the disk, made in the user's cache folder."""

from data import cache_folder
from datasets.covtype import scaled_rows
from maxmargin.files import write_store
from suite import Dataset

ROWS = 50_000
TIMES = 10


class CovtypeStore(Dataset):
    """All 54 columns of forest cover, zeros included, ten times over."""

    name = "covtype dense × 10"
    parts = ("store",)

    def get_data(self):
        """Return the path."""
        folder = cache_folder() / "texts"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "covtype-10.store"
        if not path.exists():
            X, y = scaled_rows()
            starts = range(0, y.size, ROWS)
            write_store(path, ((X[k : k + ROWS], y[k : k + ROWS]) for _ in range(TIMES) for k in starts))
        return {"X": path, "y": None}
