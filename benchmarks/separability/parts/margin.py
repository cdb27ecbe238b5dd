"""The largest margin."""

from contextlib import ExitStack

from linear_svm.children import Child
from linear_svm.turns import Stop, Timing, our_timing, take_turns
from measure import duration
from suite import Finding, Part

WIDTH = 1e-6
WANTED = 10.0


class LargestMargin(Part):
    """To a relative width of the bracket, beside quadratic programming and LIBSVM."""

    name = "margin"
    title = "margin: the hyperplane with the largest one"
    text = (
        f"`separate(X, y, tol={WIDTH:g})`, which ends when the margin is proven to be within {WIDTH:g} of the largest. "
        "The rivals run with several tolerances; the fastest run whose hyperplane, measured outside in float64, has a "
        f"margin within {WIDTH:g} of our upper bound counts. Where none does, the best one's distance is given, and "
        "the ratio is a bound: the cap, or the time of that run, divided by ours. Wanted: a ratio of at least "
        f"{WANTED:g} to the best rival."
    )

    def measure(self, dataset, solvers, options):
        """Yield a row."""
        data = options.load(dataset)
        ours, *rivals = sorted(solvers, key=lambda tool: tool.name != "maxmargin")
        with ExitStack() as stack:
            own = our_timing(stack.enter_context(Child(ours, data)), float("inf"), WIDTH, options.cap)
            take_turns([own], 1)
            ladders = {tool.name: self._ladder(stack, tool, data, options, own) for tool in rivals}
            counting = [own, *(timing for timing in ladders.values() if timing is not None and timing.runs)]
            take_turns(counting, options.repeats)
        upper = own.result["upper"]
        row = {"data": dataset.name, "ours": duration(own.seconds), "width": f"{own.result['width']:.0e}"}
        seconds = {"maxmargin": own.seconds}
        best = None
        for name, timing in ladders.items():
            row[name] = "-"
            if timing is not None and timing.runs:
                distance = 1.0 - timing.result["margin"] / upper
                near = distance <= WIDTH
                row[name] = duration(timing.seconds) if near else f"({duration(timing.seconds)}, off by {distance:.0e})"
                seconds[name] = timing.seconds
                if near and (best is None or timing.seconds < best):
                    best = timing.seconds
        ratio = (options.cap if best is None else best) / own.seconds
        text = f"{'> ' if best is None else ''}{ratio:.1f}"
        reached = own.result["width"] <= WIDTH
        row["ratio"] = text if reached and ratio >= WANTED else f"**{text if reached else '-'}**"
        yield Finding(dataset.name, seconds, row)

    def _ladder(self, stack, tool, data, options, own):
        """The fastest run that is near enough, else the nearest."""
        best = None
        for tolerance in tool.tolerances:
            child = stack.enter_context(Child(tool, data))
            timing = Timing(child, Stop(float("inf"), tolerance), options.cap)
            if not timing.run():
                break
            if best is None or timing.result["margin"] > best.result["margin"]:
                best = timing
            if 1.0 - timing.result["margin"] / own.result["upper"] <= WIDTH:
                return timing
        return best
