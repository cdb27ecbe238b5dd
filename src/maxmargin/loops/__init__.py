"""The only jitted code: one pass over arrays, in place. Nothing here handles Python objects, time or progress."""
