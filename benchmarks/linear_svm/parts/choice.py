"""Whether the choice of the solver is a good one."""

from contextlib import ExitStack

from linear_svm.children import Child
from linear_svm.stops import COARSE, FINE, penalties, power_text
from linear_svm.turns import Timing, our_timing, take_turns
from measure import duration, yes_or_no
from suite import Finding, Part

MOST = 1.3
# A solver that takes so many times as long as the choice is not the better one; it need not be waited for.
ENOUGH = 3.0
SHORTEST_WAIT = 0.5


class Choice(Part):
    """``solver="auto"`` beside both solvers."""

    name = "choice"
    title = 'choice: solver="auto" against the better solver'
    text = (
        f"Seconds to a proven gap of {power_text(COARSE)} and of {power_text(FINE)}, without intercept, with the "
        "solver chosen by the package and with either forced. A forced solver that takes more than "
        f"{ENOUGH:g} times as long as the choice is stopped. Wanted: auto / better at most {MOST:g}. "
        "`-`: the gap was not proven in that time."
    )

    def measure(self, dataset, solvers, options):
        """Yield a row for each C."""
        data = options.load(dataset)
        with ExitStack() as stack:
            children = [stack.enter_context(Child(tool, data)) for tool in solvers]
            for C in penalties(options):
                row, runs = {"data": dataset.name, "C": f"{C:g}"}, {}
                for tolerance in (COARSE, FINE):
                    timings = self._timings(children, C, tolerance, options)
                    row |= self.columns(tolerance, timings)
                    runs[tolerance] = timings
                yield Finding(f"{dataset.name}, C = {C:g}", runs, row)

    def columns(self, tolerance: float, timings: dict[str, Timing]) -> dict[str, str]:
        """Compare the three for one gap."""
        proven = {name: timing.seconds for name, timing in timings.items() if timing.proven}
        head = power_text(tolerance)
        row = {
            f"{head}: {name.replace('maxmargin', 'auto')}": duration(proven[name]) if name in proven else "-"
            for name in timings
        }
        ratio = proven["maxmargin"] / min(proven.values()) if "maxmargin" in proven else None
        row[f"{head}: auto / better"] = "-" if ratio is None else f"{ratio:.2f}"
        row[f"{head}: as wanted"] = yes_or_no(ratio is not None and ratio <= MOST)
        return row

    def conclusion(self, runs):
        """Count the rows."""
        lines = []
        for tolerance in (COARSE, FINE):
            columns = [self.columns(tolerance, found[tolerance]) for found in runs.values()]
            met = sum(row[f"{power_text(tolerance)}: as wanted"] == yes_or_no(True) for row in columns)
            lines.append(f"To {power_text(tolerance)}, {met} of {len(columns)} rows are as wanted.")
        return " ".join(lines)

    def _timings(self, children, C, tolerance, options):
        """Run the choice first, which tells how long to wait for the others."""
        auto, *forced = sorted(children, key=lambda child: child.tool.name != "maxmargin")
        chosen = our_timing(auto, C, tolerance, options.cap)
        if not chosen.run():
            raise RuntimeError(f"{auto.tool.name}: {auto.failure}")
        wait = min(options.cap, max(SHORTEST_WAIT, ENOUGH * chosen.seconds))
        timings = [chosen, *(our_timing(child, C, tolerance, wait) for child in forced)]
        take_turns(timings, options.repeats)
        return {timing.child.tool.name: timing for timing in timings}
