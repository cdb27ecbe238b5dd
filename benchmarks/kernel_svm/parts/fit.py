"""Training, at the same quality."""

import math
from contextlib import ExitStack

from kernel_svm.stops import Stop
from linear_svm.children import Child
from linear_svm.turns import Timing, take_turns
from measure import duration
from suite import Finding, Part

OURS = "maxmargin"
# The relative distance from the best known dual value that is good enough, unless the rival came nearer; and what
# counts as no distance at all.
GOOD, NOTHING = 1e-3, 1e-7
# Rivals without a target are ended after this share of the slowest of the others, and so many seconds more.
PATIENCE, GRACE = 0.0, 10.0
WANTED = {"LIBSVM": 5.0, "oneDAL": 2.0}


class Fit(Part):
    """Classifiers."""

    name = "fit"
    title = "fit: classifiers"
    text = (
        "RBF or linear kernel, float64 rows, text sparse, the rest dense, `cache_size=1000` for all (ThunderSVM has no "
        "such setting), the rivals at their default tolerances. The dual value of every model is computed outside in "
        "float64 from its duals alone; distances are relative to the best known one. Our time, certificate included, "
        f"is that of the coarsest `tol` of 1e-3, 1e-4, 1e-5, 1e-6 whose distance is at most {GOOD:g} and at most that "
        f"of the rival ({NOTHING:g} counts as none), so that it may differ from rival to rival; `tol=1e-3` is our "
        "default. A ratio is the rival's time divided by ours. `>` stands before the time after which a rival was "
        "ended. Wanted: against LIBSVM a geometric mean of 5 and never below 1, against oneDAL one of 2 and never "
        "below 1."
    )

    def measure(self, dataset, solvers, options):
        """Yield a row a machine."""
        data = options.load(dataset)
        ours, *rivals = sorted(solvers, key=lambda tool: (tool.name != OURS, tool.name not in WANTED))
        with ExitStack() as stack:
            own = stack.enter_context(Child(ours, data))
            for machine in dataset.machines:
                others = {tool.name: stack.enter_context(Child(tool, data)) for tool in rivals}
                yield self._row(f"{dataset.name}, {machine}", machine, own, others, options)
                for child in others.values():
                    child.__exit__()

    def _row(self, name, machine, own, others, options):
        """Run the rivals, then climb our ladder until all of them are matched."""
        theirs, slowest = {}, 0.0
        for rival, child in others.items():
            cap = options.cap if rival in WANTED else min(options.cap, PATIENCE * slowest + GRACE)
            theirs[rival] = Timing(child, Stop(machine, child.tool.tolerances[0]), cap)
            if theirs[rival].run():
                slowest = max(slowest, theirs[rival].seconds)
        rungs = [Timing(own, Stop(machine, tol), 4.0 * options.cap) for tol in own.tool.tolerances]
        climbed = []
        for rung in rungs:
            if not rung.run():
                break
            climbed.append(rung)
            best = max(timing.result["dual"] for timing in [*theirs.values(), *climbed] if timing.runs)
            aims = {rival: aim_of(timing, best) for rival, timing in theirs.items()}
            if distance(rung, best) <= min(aims.values(), default=GOOD):
                break
        matching = {
            rival: next((rung for rung in climbed if distance(rung, best) <= aims[rival]), None) for rival in theirs
        }
        counting = [climbed[0], *theirs.values(), *(rung for rung in matching.values() if rung is not None)]
        take_turns([timing for timing in unique(counting) if timing.runs], options.repeats)
        row = {
            "data and machine": name,
            "support": f"{climbed[0].result['support']:,}",
            "ours, tol=1e-3": duration(climbed[0].seconds),
            "distance": f"{distance(climbed[0], best):.0e}",
        }
        ratios = {}
        for rival, timing in theirs.items():
            rung = matching[rival]
            if timing.runs:
                row[rival] = f"{duration(timing.seconds)} ({distance(timing, best):.0e})"
            else:
                row[rival] = f"> {duration(timing.cap)}" if others[rival].waited else f"failed: {others[rival].failure}"
            row[f"ours for {rival}"] = "-" if rung is None else f"{duration(rung.seconds)} ({rung.stop.tolerance:.0e})"
            ratios[rival] = None
            if rung is not None and (timing.runs or others[rival].waited):
                ratios[rival] = (timing.seconds if timing.runs else timing.cap) / rung.seconds
            text = "-" if ratios[rival] is None else f"{'' if timing.runs else '> '}{ratios[rival]:.2f}"
            if not timing.runs and ratios[rival] is not None and ratios[rival] < 1.0:
                # Ended before our time was over: that says nothing.
                ratios[rival] = None
            elif ratios[rival] is None or ratios[rival] < 1.0:
                text = f"**{text}**"
            row[f"{rival} / ours"] = text
        return Finding(name, ratios, row)

    def conclusion(self, runs):
        """The geometric means."""
        sentences = []
        for rival in dict.fromkeys(rival for ratios in runs.values() for rival in ratios):
            found = [ratios[rival] for ratios in runs.values() if ratios.get(rival) is not None]
            if found:
                mean = math.exp(sum(map(math.log, found)) / len(found))
                wanted = f" (wanted: {WANTED[rival]:g})" if rival in WANTED else ""
                slower = sum(ratio < 1.0 for ratio in found)
                sentences.append(
                    f"{rival}: geometric mean {mean:.2f}{wanted} over {len(found)} machines, smallest {min(found):.2f}"
                    f", {slower} below 1."
                )
        return " ".join(sentences)


class Regression(Fit):
    """Regressions."""

    name = "regression"
    title = "regression: SVR"
    text = "The same for `SVR`."


def unique(timings):
    """Every timing once."""
    return list({id(timing): timing for timing in timings}.values())


def distance(timing, best):
    """How far a dual value is below the best known one."""
    return (best - timing.result["dual"]) / abs(best) if timing.runs else math.inf


def aim_of(timing, best):
    """The distance that matches a rival."""
    return min(GOOD, max(NOTHING, distance(timing, best))) if timing.runs else GOOD
