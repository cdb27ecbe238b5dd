"""The package's command, LIBLINEAR's and Vowpal Wabbit's."""

import shutil
import sys

from files.command import Command


class Maxmargin(Command):
    """``maxmargin train``, at its defaults, certificate included."""

    name = "maxmargin"

    def command(self):
        """Start the command in this interpreter."""
        return [sys.executable, "-m", "maxmargin.cli.app", "train", str(self.text), "-o", str(self.model), "-C", "1"]


if shutil.which("liblinear-train"):

    class LiblinearTrain(Command):
        """The same loss and C, without an intercept; its own tolerance."""

        name = "liblinear-train"

        def command(self):
            """Hinge loss by its dual."""
            return ["liblinear-train", "-s", "3", "-c", "1", "-q", str(self.text), str(self.model)]
