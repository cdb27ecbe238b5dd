"""From a text file to a saved model."""

from files.command import CAP
from measure import InTurn, duration, median_seconds

MEGABYTE = 1e6


class EndToEnd(InTurn):
    """Whole processes."""

    name = "end_to_end"
    title = "end_to_end: from text to a saved model"
    text = (
        "`maxmargin train FILE -o MODEL -C 1` (linear SVM with an intercept, to a proven gap of 1e-4, which the model "
        "file holds), `liblinear-train -s 3 -c 1` (the same loss without intercept, to its own tolerance) and `vw "
        "--loss_function hinge` (one pass), each a fresh process, interpreter start included; `first use` also "
        "compiles its loops. `peak` is the largest "
        "resident memory. Wanted: faster than both on the large file, within 1 s of them on the small one. "
        f"A program is ended after {CAP:g} s."
    )
    shortest_total = 10.0

    def row(self, dataset, data, runs):
        """One pair of columns a tool."""
        row = {"data": dataset.name, "text": f"{data['X'].stat().st_size / MEGABYTE:.0f} MB"}
        for name, taken in runs.items():
            ended = any(run.result["ended"] for run in taken)
            row[name] = f"> {CAP:g} s" if ended else duration(median_seconds(taken))
            row[f"peak of {name}"] = f"{max(run.result['peak'] for run in taken) / MEGABYTE:.0f} MB"
        return row
