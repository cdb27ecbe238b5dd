"""The package in a process of its own: what a fit needs in memory."""

from processes import OwnProcess


class MaxmarginMemory(OwnProcess):
    """One process, which loads the data and fits."""

    name = "maxmargin memory"
    parts = ("memory",)
    module = "linear_svm.fit_memory"

    def run(self, _stop):
        """Start the process."""
        self.reported = self.answer()

    def get_result(self):
        """Return what it reported."""
        return self.reported
