"""Machines with nu, at the same proven gap."""

import math

from measure import back_and_forth, duration, median_ratio, median_seconds, timed
from suite import Finding, Part

MACHINES = ("NuSVC", "NuSVR", "OneClassSVM", "OneClassSVM linear")
WANTED = 1.0


class Nu(Part):
    """Our coarsest tolerance whose gap is not above the rival's, beside the rival."""

    name = "nu"
    title = "nu: NuSVC, NuSVR and OneClassSVM"
    text = (
        'RBF kernel, `gamma="scale"`, or the linear one with columns from zero on, nu = 0.2, LIBSVM at its default '
        "tolerance. The relative gap of both models "
        "is computed by `maxmargin.certify`, which takes scikit-learn's models, but not its NuSVR, without epsilon. "
        "Our time, certificate included, is that of the coarsest `tol` of 1e-3, 1e-4, ... whose gap is at most its, "
        "or 1e-6, and for NuSVR that of the default. Wanted: at most "
        f"{WANTED:g} times its time."
    )

    def measure(self, dataset, solvers, options):
        """Yield a row a machine."""
        data = options.load(dataset)
        ours, rival = sorted(solvers, key=lambda solver: solver.name != "maxmargin")
        for solver in (ours, rival):
            solver.set_data(**data)
        for machine in MACHINES:
            rival.warm_up((machine, rival.tolerances[0]))
            known = rival.get_result()["gap"]
            aim = max(known, ours.tolerances[-1]) if math.isfinite(known) else ours.tolerances[0]
            for tolerance in ours.tolerances:
                ours.warm_up((machine, tolerance))
                if ours.get_result()["gap"] <= aim:
                    break
            stops = {ours: (machine, tolerance), rival: (machine, rival.tolerances[0])}
            runs = {solver: [] for solver in stops}
            for k in range(options.repeats):
                for solver in back_and_forth(list(stops), k):
                    runs[solver].append(timed(solver, stops[solver]))
            ratio = median_ratio(runs[ours], runs[rival])
            row = {
                "data and machine": f"{dataset.name}, {machine}",
                "ours": f"{duration(median_seconds(runs[ours]))} (gap {runs[ours][-1].result['gap']:.0e})",
                "LIBSVM": f"{duration(median_seconds(runs[rival]))} (gap {runs[rival][-1].result['gap']:.0e})",
                "ours / LIBSVM": f"{ratio:.2f}" if ratio <= WANTED else f"**{ratio:.2f}**",
            }
            yield Finding(row["data and machine"], {"LIBSVM": 1.0 / ratio}, row)

    def conclusion(self, runs):
        """Count the rows that are as wanted."""
        good = sum(run["LIBSVM"] >= 1.0 / WANTED for run in runs.values())
        return f"{good} of {len(runs)} rows within LIBSVM's time."
