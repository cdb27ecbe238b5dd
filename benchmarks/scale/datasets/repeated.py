"""Covtype once, ten and a hundred times."""

from suite import Dataset


class Covtype1(Dataset):
    """581,012 rows of 54 columns, 0.25 GB."""

    name = "covtype ×1"
    parts = ("covtype",)
    times = 1

    def get_data(self):
        """The processes make the rows themselves."""
        return {"times": self.times}


class Covtype10(Covtype1):
    """5.8 million rows, 2.5 GB."""

    name = "covtype ×10"
    times = 10


class Covtype100(Covtype1):
    """58 million rows, 25 GB: on Dask alone, where the machine has the memory."""

    name = "covtype ×100"
    times = 100
