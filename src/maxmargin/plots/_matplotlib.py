"""The import of matplotlib, which is an optional dependency."""

try:
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation, HTMLWriter, PillowWriter
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpecFromSubplotSpec
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator
    from matplotlib.transforms import ScaledTranslation
except ImportError as error:
    raise ImportError("maxmargin.plots needs matplotlib, the extra 'plot': pip install 'maxmargin[plot]'.") from error

__all__ = [
    "Axes",
    "Figure",
    "FuncAnimation",
    "GridSpecFromSubplotSpec",
    "HTMLWriter",
    "Line2D",
    "MaxNLocator",
    "PillowWriter",
    "ScaledTranslation",
    "plt",
]
