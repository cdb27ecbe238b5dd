"""The package's command, LIBLINEAR's and Vowpal Wabbit's."""

import shutil
import sys
import tempfile

from files.command import Command


class Maxmargin(Command):
    """``maxmargin train``, at its defaults, certificate included."""

    name = "maxmargin"

    def command(self):
        """Start the command in this interpreter."""
        return [sys.executable, "-m", "maxmargin.cli.app", "train", str(self.text), "-o", str(self.model), "-C", "1"]


class MaxmarginFirstUse(Maxmargin):
    """The same with an empty cache of compiled loops, as after an installation."""

    name = "maxmargin, first use"

    def command(self):
        """Start the command with a cache folder of its own."""
        cache = tempfile.mkdtemp(dir=self.folder.name)
        return ["env", f"NUMBA_CACHE_DIR={cache}", *super().command()]


if shutil.which("liblinear-train"):

    class LiblinearTrain(Command):
        """The same loss and C, without an intercept; its own tolerance."""

        name = "liblinear-train"

        def command(self):
            """Hinge loss by its dual."""
            return ["liblinear-train", "-s", "3", "-c", "1", "-q", str(self.text), str(self.model)]
