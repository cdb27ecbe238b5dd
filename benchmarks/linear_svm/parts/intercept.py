"""The problem that no rival solves: an intercept that is not penalised."""

from linear_svm.children import Child
from linear_svm.stops import COARSE, FINE, penalties, power_text
from linear_svm.turns import Timing, our_timing, take_turns
from measure import duration, yes_or_no
from suite import Finding, Part


class Intercept(Part):
    """Seconds to a proven gap with the default intercept."""

    name = "intercept"
    title = "intercept: the unpenalised intercept"
    text = (
        "`LinearSVC` as it is by default, with an intercept that is not penalised, to a proven gap of "
        f"{power_text(COARSE)} and of {power_text(FINE)}. The rivals penalise the intercept: they solve another "
        "problem. `gap` is what was proven, of the sum over the classes."
    )

    def measure(self, dataset, solvers, options):
        """Yield a row for each C."""
        data = options.load(dataset)
        (tool,) = solvers
        with Child(tool, data) as child:
            for C in penalties(options):
                timings = [our_timing(child, C, tolerance, options.cap) for tolerance in (COARSE, FINE)]
                take_turns(timings, options.repeats)
                row = {"data": dataset.name, "C": f"{C:g}"}
                for timing in timings:
                    row |= columns(timing)
                yield Finding(f"{dataset.name}, C = {C:g}", timings, row)


def columns(timing: Timing) -> dict[str, str]:
    """Time and gap."""
    head = power_text(timing.stop.tolerance)
    if not timing.runs:
        return {f"{head}: proven": yes_or_no(False)}
    return {
        f"{head}: seconds": duration(timing.seconds),
        f"{head}: gap": power_text(timing.result["gap"]),
        f"{head}: proven": yes_or_no(timing.proven),
    }
