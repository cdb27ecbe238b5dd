"""The suite of kernel support vector machines."""

import matplotlib.pyplot as plt

from suite import Objective

OURS = "maxmargin"


class KernelSVM(Objective):
    """Training and predicting with the RBF and the linear kernel."""

    title = "Kernel support vector machines"
    part_order = ("fit", "regression", "nu", "one_class", "predict", "memory")
    packages = ("scikit-learn", "scikit-learn-intelex", "thundersvm-cpu")
    picture_text = "How many times faster than each rival, at the same quality"

    def timing(self, options):
        """Name the repeats."""
        return (
            f"A time is the median of {options.repeats} runs where a run takes less than 1 s, of "
            f"{min(3, options.repeats)} below 5 s, one run above; runs take turns. Every tool has a process of its "
            "own, which has touched and freed 1.3 gigabytes before and keeps them: on a virtual machine the first use "
            "of memory costs more than the kernel values that are put there."
        )

    def draw(self, findings, path):
        """Draw a line of ratios for every setting."""
        rows = [
            (name, runs)
            for part in ("fit", "regression")
            if part in findings
            for name, runs in findings[part].runs.items()
        ]
        rivals = list(dict.fromkeys(rival for _, ratios in rows for rival in ratios))
        figure, axes = plt.subplots(figsize=(8.0, 1.5 + 0.3 * len(rows)), layout="constrained")
        for k, rival in enumerate(rivals):
            places = [(ratios[rival], -i) for i, (_, ratios) in enumerate(rows) if ratios.get(rival) is not None]
            axes.plot([x for x, _ in places], [y for _, y in places], "o", color=f"C{k}", label=rival)
        axes.axvline(1.0, color="0.3", linewidth=1.0)
        axes.set_xscale("log")
        axes.set_yticks([-i for i in range(len(rows))], [name for name, _ in rows])
        axes.set_xlabel("the rival's time divided by ours, at the same dual value")
        axes.grid(axis="x", color="0.9")
        axes.legend(frameon=False)
        figure.savefig(path, dpi=150)
        plt.close(figure)
