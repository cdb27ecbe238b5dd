"""Pictures of models, proofs and algorithms, as Display classes in scikit-learn's form; needs matplotlib.

Every display has ``plot(ax=None)``, ``ax_`` and ``figure_``. Names are loaded when they are first used.
"""

from maxmargin._lazy import lazy_names

_HOME_OF = {
    "BracketDisplay": "proofs",
    "CoefficientDisplay": "coefficients",
    "CoordinateAscentDisplay": "dual_steps",
    "DecisionRegionDisplay": "regions",
    "GapDisplay": "proofs",
    "HullDisplay": "hulls",
    "LagrangianDisplay": "lagrangian",
    "LassoPathDisplay": "paths",
    "LossDisplay": "losses",
    "MarginComparisonDisplay": "margins",
    "MarginDisplay": "margins",
    "MarginPerceptronDisplay": "margin_perceptron",
    "MistakeDisplay": "proofs",
    "PosteriorDisplay": "coefficients",
    "PredictionDisplay": "predictions",
    "RegularisationPathDisplay": "paths",
    "RunDisplay": "runs",
    "SMOStepDisplay": "dual_steps",
    "SeparatorsDisplay": "separators",
    "UpdateDisplay": "runs",
    "UsedPointsDisplay": "used_points",
    "animate": "animation",
    "draw": "drawing",
    "write_figure": "drawing",
}

__all__ = sorted(_HOME_OF)

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
