"""Ours against the rivals, by the time to a given quality."""

import sys
from statistics import geometric_mean

from linear_svm.agreement import MOST, refusals
from linear_svm.ladders import REFERENCE_TOLERANCE, SHORTEST_WAIT, UNCERTAIN, WORTH_WAITING_FOR, Race, race
from linear_svm.stops import COARSE, FINE, penalties, power_text
from linear_svm.tool import Tool
from measure import duration, markdown_table
from suite import Finding, Part

# For both distances: the smallest ratio wanted on every row, and of the geometric mean.
WANTED = {COARSE: (1.5, 3.0), FINE: (3.0, 10.0)}


class TimeToQuality(Part):
    """The fastest run of each tool that comes near enough to the best known objective."""

    name = "race"
    title = "race: seconds to a given quality"
    text = (
        "Hinge loss, no intercept: P(w) = 1/2 ||w||² + C Σ max(0, 1 - y w·x), for sector.scale summed over its classes "
        "against their rest. Every tool is run with a ladder of tolerances from coarse to fine, and P is computed "
        "outside from its w, in float64; the fastest run within a relative distance of "
        f"{power_text(COARSE)} (or {power_text(FINE)}) of the best known P counts. The best known P is the smallest "
        f"one of all runs of the row, among them one of ours with a tolerance of {power_text(REFERENCE_TOLERANCE)} "
        "that is not timed; `known to` bounds its own distance from the optimum, by our largest proven dual value, "
        f"and is bold above {power_text(UNCERTAIN)}. Our times include the certificate; `gap` is what the run that "
        "counts has proven. `ratio` is the time of the best rival divided by ours, bold where it is less than wanted. "
        "`-`: not reached. Where no rival reaches the distance, the ratio is more than the cap divided by our time, "
        "and this bound enters the geometric mean."
    )

    def __init__(self):
        self.taking_part: list[Tool] | None = None
        self.refused: dict[str, str] = {}

    def measure(self, dataset, solvers, options):
        """Yield a row for each C."""
        ours, *rivals = self._who_takes_part(solvers)
        data = options.load(dataset)
        for C in penalties(options):
            found = race(dataset.name, data, C, [ours, *rivals], options)
            for name, failure in found.failures.items():
                print(f"  C = {C:g}, {name}: {failure}", file=sys.stderr, flush=True)
            yield Finding(f"{dataset.name}, C = {C:g}", found, self.row(found))
            # Larger C take longer.
            rivals = [rival for rival in rivals if rival.name not in found.given_up]

    def row(self, found: Race) -> dict[str, str]:
        """Compare the times to both distances."""
        row = {"data": found.data, "C": f"{found.C:g}"}
        for within, (wanted, _) in WANTED.items():
            ours, rival = found.fastest(found.ours, within), found.fastest_rival(within)
            head = power_text(within)
            row |= {
                f"{head}: ours": "-" if ours is None else duration(ours.seconds),
                f"{head}: gap": "-" if ours is None else power_text(ours.result["gap"]),
                f"{head}: best rival": "-" if rival is None else rival[0],
                f"{head}: its time": "-" if rival is None else duration(rival[1].seconds),
                f"{head}: ratio": ratio_text(found, within, wanted),
            }
        uncertainty = power_text(max(0.0, found.uncertainty))
        row["known to"] = uncertainty if found.is_certain else f"**{uncertainty}**"
        return row

    def conclusion(self, runs):
        """State what is reached of what is wanted, and list the times of all tools."""
        races: list[Race] = list(runs.values())
        pieces = [verdict(races, within) for within in WANTED]
        remarks = [f"{tool.name} is {tool.remark}." for tool in self.taking_part or [] if tool.remark]
        remarks += [f"{name} is left out: {reason}." for name, reason in self.refused.items()]
        remarks.append(
            f"A run is ended after {races[0].cap:g} s, and with it the tool's ladder; a tool that did not come within "
            f"{power_text(COARSE)} in that time is not tried with larger C on the same data. Once a rival is within "
            f"{power_text(FINE)}, no run of another one is waited for that takes more than "
            f"{WORTH_WAITING_FOR:g} times as long, or {SHORTEST_WAIT:g} s. "
            f"Beforehand every tool has to reach our objective to {power_text(MOST)} on small "
            "data."
        )
        pieces.append(" ".join(remarks))
        pieces.append(f"The times of all tools, to {power_text(COARSE)} / to {power_text(FINE)}:")
        pieces.append(markdown_table([times_of_all(found) for found in races]))
        return "\n\n".join(pieces)

    def _who_takes_part(self, solvers):
        """Ours and the rivals that solve the same problem; found out once."""
        if self.taking_part is None:
            for tool in solvers:
                tool.prepare()
            ours = next(tool for tool in solvers if tool.name == "maxmargin")
            rivals = [tool for tool in solvers if tool is not ours]
            self.refused = refusals(ours, rivals)
            for name, reason in self.refused.items():
                print(f"left out {name}: {reason}", file=sys.stderr, flush=True)
            self.taking_part = [ours, *(rival for rival in rivals if rival.name not in self.refused)]
        return self.taking_part


def ratio_text(found: Race, within: float, wanted: float) -> str:
    """The ratio, as a bound where only one side reached the distance."""
    ratio = found.ratio(within)
    if ratio is None:
        return "**-**"
    sign = "> " if found.fastest_rival(within) is None else "< " if found.fastest(found.ours, within) is None else ""
    text = f"{sign}{ratio:.2f}" if ratio < 10.0 else f"{sign}{ratio:.0f}"
    return text if meets(found, within, wanted) else f"**{text}**"


def meets(found: Race, within: float, wanted: float) -> bool:
    """Whether we reached the distance, and fast enough."""
    ratio = found.ratio(within)
    return ratio is not None and ratio >= wanted and found.fastest(found.ours, within) is not None


def verdict(races: list[Race], within: float) -> str:
    """Say how many rows are as wanted, and the mean."""
    on_each, on_average = WANTED[within]
    ratios = [ratio for ratio in (found.ratio(within) for found in races) if ratio is not None]
    met = sum(meets(found, within, on_each) for found in races)
    without_us = sum(found.fastest(found.ours, within) is None for found in races)
    without_rivals = sum(found.fastest_rival(within) is None for found in races)
    mean = geometric_mean(ratios) if ratios else 0.0
    answer = "as wanted" if mean >= on_average else "**not as wanted**"
    return (
        f"**Within {power_text(within)}:** {met} of {len(races)} rows have a ratio of at least {on_each:g}; the "
        f"geometric mean is {mean:.2f}, wanted {on_average:g}: {answer}. No rival came so near on {without_rivals} "
        f"rows, we did not on {without_us}."
    )


def times_of_all(found: Race) -> dict[str, str]:
    """A row with the times of every tool."""

    def both(name):
        timings = (found.fastest(name, within) for within in WANTED)
        return " / ".join("-" if timing is None else duration(timing.seconds) for timing in timings)

    return {"data": found.data, "C": f"{found.C:g}", **{name: both(name) for name in found.ladders}}
