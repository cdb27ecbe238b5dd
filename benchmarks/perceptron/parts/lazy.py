"""What lazy passes save where few mistakes are left, and what they cost where many are."""

import numpy as np

from measure import InTurn, duration, yes_or_no
from perceptron.stops import Stop

PASSES = 50
FEW = 1e-3
MANY = 1e-2


class Lazy(InTurn):
    """The solver's passes with and without leave to skip rows."""

    name = "lazy"
    title = "lazy: passes that skip rows which cannot have become mistakes"
    text = (
        "The time of a pass, without certificate, when every row is looked at and when rows may be "
        "skipped; each pass's time is its median over the rounds. `few` are the passes with mistakes on "
        "at most 0.1 % of the rows, `many` those with mistakes on at least 1 %; `last 3` are the last "
        "three passes of a run that ends by itself. Wanted: every row / lazy at least 3 where few "
        "mistakes are left (mushrooms, imdb.tfidf), lazy / every row at most 1.05 where there are many. "
        f"At most {PASSES} passes, one BLAS thread; w must be the same."
    )
    stop = Stop(passes=PASSES)

    def row(self, dataset, data, runs):
        """Compare the passes' times on one data set."""
        n_rows = data["X"].shape[0]
        every, lazy = (pass_seconds(runs[name]) for name in ("every row", "lazy"))
        result = runs["lazy"][-1].result
        mistakes, rows_evaluated = np.array(result["mistakes"]), np.array(result["rows_evaluated"])
        few, many = mistakes <= FEW * n_rows, mistakes >= MANY * n_rows
        last = np.arange(mistakes.size) >= mistakes.size - 3
        row = {
            "data": dataset.name,
            "passes": f"{mistakes.size:,}",
            "w the same": yes_or_no(np.array_equal(result["w"], runs["every row"][-1].result["w"])),
            "all: every row / lazy": f"{every.sum() / lazy.sum():.2f}",
        }
        if few.any():
            saved = every[few].sum() / lazy[few].sum()
            row |= {
                "few: passes": f"{few.sum():,}",
                "few: share looked at": f"{rows_evaluated[few].mean() / n_rows:.0%}",
                "few: every row": duration(every[few].mean()),
                "few: lazy": duration(lazy[few].mean()),
                "few: every row / lazy": f"{saved:.2f}",
                "few: as wanted": yes_or_no(saved >= 3.0),
            }
        if mistakes[-1] == 0:
            row["last 3: every row / lazy"] = f"{every[last].sum() / lazy[last].sum():.2f}"
        if many.any():
            cost = lazy[many].sum() / every[many].sum()
            row |= {
                "many: passes": f"{many.sum():,}",
                "many: share looked at": f"{rows_evaluated[many].mean() / n_rows:.0%}",
                "many: lazy / every row": f"{cost:.2f}",
                "many: as wanted": yes_or_no(cost <= 1.05),
            }
        return row


def pass_seconds(runs):
    """The median time of each pass over the rounds."""
    return np.median([run.result["seconds"] for run in runs], axis=0)
