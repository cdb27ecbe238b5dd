"""Whether a hyperplane separates the classes."""

from contextlib import ExitStack

from linear_svm.children import Child
from linear_svm.turns import Stop, Timing, our_timing, take_turns
from measure import duration, yes_or_no
from suite import Finding, Part


class Decision(Part):
    """Ours with its proof, beside HiGHS without."""

    name = "decision"
    title = "decision: is there a hyperplane?"
    text = (
        "`separate(X, y, tol=1.0)`, which ends with the first hyperplane that separates the classes or with hull "
        "weights that prove that none does, beside HiGHS on the linear program (its constraints are made before the "
        "clock starts). `margin below` is the largest margin that any hyperplane could still have, relative to R, "
        "where the answer is no. Wanted: a ratio, HiGHS's time divided by ours, of at least 1 on every set."
    )

    def measure(self, dataset, solvers, options):
        """Yield a row."""
        data = options.load(dataset)
        ours, *rivals = sorted(solvers, key=lambda tool: tool.name != "maxmargin")
        with ExitStack() as stack:
            children = [stack.enter_context(Child(tool, data)) for tool in (ours, *rivals)]
            timings = [our_timing(children[0], float("inf"), 1.0, options.cap)]
            timings += [Timing(child, Stop(float("inf"), 1.0), options.cap) for child in children[1:]]
            take_turns(timings, options.repeats)
        own, other = timings
        seconds = {timing.child.tool.name: timing.seconds for timing in timings if timing.runs}
        result = own.result
        row = {
            "data": dataset.name,
            "separable": yes_or_no(bool(result["separable"])) if result["separable"] is not None else "?",
            "margin below": f"{result['upper'] / result['radius']:.0e} R" if result["separable"] is False else "",
            "ours": duration(own.seconds),
            "HiGHS": duration(other.seconds) if other.runs else f"> {options.cap:g} s",
            "ratio": ratio_text(own, other, options.cap),
            "same answer": yes_or_no(other.result["separable"] == result["separable"]) if other.runs else "",
        }
        yield Finding(dataset.name, seconds, row)


def ratio_text(own, other, cap):
    """The rival's time divided by ours, or a bound."""
    sign, seconds = ("", other.seconds) if other.runs else ("> ", cap)
    ratio = seconds / own.seconds
    text = f"{sign}{ratio:.2f}" if ratio < 10.0 else f"{sign}{ratio:.0f}"
    return text if ratio >= 1.0 else f"**{text}**"
