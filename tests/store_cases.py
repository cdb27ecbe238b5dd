"""Helpers of the tests of stores."""


def written(path, text):
    """Write a table of text."""
    path.write_text(text)
    return path
