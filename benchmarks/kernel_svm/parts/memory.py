"""What a fit needs in memory."""

from measure import InTurn, yes_or_no

MEGABYTE = 1e6
ALLOWED = 200.0


class Memory(InTurn):
    """The rise of the resident memory during a fit."""

    name = "memory"
    title = "memory: the rise during a fit"
    text = (
        'A fresh process loads the data, warms up on a few rows, and fits `SVC(C=10, gamma="scale")` with its default '
        "`cache_size=200`, certificate included; `rise` is the peak of its resident memory during the fit, less what "
        f"it had before. Wanted: at most the cache and {ALLOWED:g} MB."
    )
    shortest_total = 0.0
    most_repeats = 1

    def row(self, dataset, _data, runs):
        """Report the rise."""
        result = runs["maxmargin memory"][0].result
        cache = result["cache"] / MEGABYTE
        return {
            "data": dataset.name,
            "input": f"{result['input'] / MEGABYTE:.0f} MB",
            "cache": f"{cache:.0f} MB",
            "rise": f"{result['rise'] / MEGABYTE:.0f} MB" + ("" if result["peak was reset"] else " at most"),
            "proven gap": f"{result['gap']:.1e}",
            "as wanted": yes_or_no(result["rise"] / MEGABYTE <= cache + ALLOWED),
        }
