"""The package in a process of its own: what a fit needs in memory."""

from linear_svm.solvers.maxmargin_memory import MaxmarginMemory


class KernelMemory(MaxmarginMemory):
    """One process, which loads the data and fits."""

    module = "kernel_svm.fit_memory"
