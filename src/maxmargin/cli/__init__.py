"""The command ``maxmargin``, one module a subcommand."""
