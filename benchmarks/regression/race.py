"""A race to a rival's objective."""

from measure import back_and_forth, duration, median_ratio, median_seconds, timed
from regression.objective import WANTED
from suite import Finding, Part

# Two values that differ by no more than this share are equal.
EQUAL = 1e-9


class Race(Part):
    """Our coarsest tolerance whose objective is not above the rival's, beside the rival."""

    stops = ()

    def measure(self, dataset, solvers, options):
        """Yield a row for each stop."""
        data = options.load(dataset)
        ours, rival = sorted(solvers, key=lambda solver: solver.name != "maxmargin")
        for solver in (ours, rival):
            solver.set_data(**data)
        for stop in self.stops:
            rival.warm_up(stop)
            aim = rival.get_result()["objective"]
            near = self._near(ours, stop, aim)
            stop_of = {ours.name: near, rival.name: stop}
            runs = {ours.name: [], rival.name: []}
            for k in range(options.repeats):
                for solver in back_and_forth([ours, rival], k):
                    runs[solver.name].append(timed(solver, stop_of[solver.name]))
            found, other = runs[ours.name], runs[rival.name]
            ratio = median_ratio(found, other)
            name = f"{dataset.name}, {stop.text}"
            row = {
                "data": name,
                "ours": duration(median_seconds(found)),
                "scikit-learn": duration(median_seconds(other)),
                "ours / scikit-learn": f"{ratio:.2f}" if ratio <= WANTED else f"**{ratio:.2f}**",
                "objective / scikit-learn's - 1": f"{found[-1].result['objective'] / aim - 1.0:.0e}",
                "proven gap": f"{found[-1].result['gap']:.0e}",
            }
            yield Finding(name, {"ratio": ratio}, row)

    def _near(self, ours, stop, aim):
        """The first of our tolerances that is good enough; the finest if none is."""
        for tolerance in ours.tolerances:
            near = stop.with_tolerance(tolerance)
            ours.warm_up(near)
            if ours.get_result()["objective"] <= aim * (1.0 + EQUAL):
                break
        return near

    def conclusion(self, runs):
        """Count the rows that are as wanted."""
        good = sum(run["ratio"] <= WANTED for run in runs.values())
        return f"{good} of {len(runs)} rows within {WANTED:g} times scikit-learn's time."
