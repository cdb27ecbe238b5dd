"""The package in processes of its own: what the first fit costs."""

import tempfile

from processes import OwnProcess


class MaxmarginProcess(OwnProcess):
    """Two processes, one after the other, with a cache of compiled loops that is empty at first."""

    name = "maxmargin process"
    parts = ("startup",)
    module = "perceptron.first_fit"

    def run(self, _stop):
        """Start both processes."""
        with tempfile.TemporaryDirectory() as cache:
            self.empty_cache, self.second_process = (self.answer(NUMBA_CACHE_DIR=cache) for _ in range(2))

    def get_result(self):
        """Return what both processes reported."""
        return {"empty cache": self.empty_cache, "second process": self.second_process}
