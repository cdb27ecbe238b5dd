"""Pictures of models, proofs and algorithms, as Display classes in scikit-learn's form; needs matplotlib.

Every display has ``plot(ax=None)``, ``ax_`` and ``figure_``. Names are loaded when they are first used.
"""

from maxmargin._lazy import lazy_names

_HOME_OF = {
    "BracketDisplay": "proofs",
    "CoefficientDisplay": "coefficients",
    "CoordinateAscentDisplay": "duality",
    "DecisionRegionDisplay": "regions",
    "GapDisplay": "proofs",
    "HullDisplay": "hulls",
    "LagrangianDisplay": "duality",
    "LassoPathDisplay": "paths",
    "LossDisplay": "losses",
    "MarginComparisonDisplay": "margins",
    "MarginDisplay": "margins",
    "MarginPerceptronDisplay": "runs",
    "MistakeDisplay": "proofs",
    "PosteriorDisplay": "coefficients",
    "PredictionDisplay": "predictions",
    "RegularisationPathDisplay": "paths",
    "RunDisplay": "runs",
    "SMOStepDisplay": "duality",
    "SeparatorsDisplay": "margins",
    "UpdateDisplay": "runs",
    "UsedPointsDisplay": "margins",
    "animate": "animation",
    "draw": "drawing",
    "write_figure": "drawing",
}

__all__ = sorted(_HOME_OF)

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
