"""The only jitted code: one pass over arrays, in place. Nothing here knows of Python objects, time or progress."""
