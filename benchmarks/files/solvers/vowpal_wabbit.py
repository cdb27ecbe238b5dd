"""Vowpal Wabbit's command, which its Python package brings along."""

import sys

import vowpalwabbit

from files.command import Command


class VowpalWabbit(Command):
    """One pass of its own algorithm over its own format."""

    name = "vw"
    version = vowpalwabbit.__version__

    def command(self):
        """Hinge loss."""
        options = ["-d", str(self.other), "--loss_function", "hinge", "-f", str(self.model), "--quiet"]
        return [sys.executable, "-m", "vowpalwabbit", *options]
