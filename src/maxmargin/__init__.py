"""Large-margin classification in which every answer carries its proof.

The public names are loaded when they are first used (PEP 562), so that ``import maxmargin`` is fast:
neither numba nor matplotlib is imported by it.
"""

from typing import TYPE_CHECKING

from maxmargin._lazy import lazy_names

__version__ = "0.2.0"

_HOME_OF = {
    "BayesianRegression": "estimators",
    "ElasticNet": "estimators",
    "KernelPerceptron": "estimators",
    "Lasso": "estimators",
    "LinearSVC": "estimators",
    "LinearSVR": "estimators",
    "LogisticRegression": "estimators",
    "MarginPerceptron": "estimators",
    "NuSVC": "estimators",
    "NuSVR": "estimators",
    "OneClassSVM": "estimators",
    "Perceptron": "estimators",
    "PosteriorSample": "estimators",
    "Ridge": "estimators",
    "SVC": "estimators",
    "SVR": "estimators",
    "calibrate": "estimators",
    "certify": "estimators",
    "enet_path": "estimators",
    "l1_min_c": "estimators",
    "lasso_path": "estimators",
    "svm_path": "estimators",
    "Certificate": "certificates",
    "CertificateError": "certificates",
    "DualityGap": "certificates",
    "SVMGap": "certificates",
    "SparseGap": "certificates",
    "LassoGap": "certificates",
    "MarginBracket": "certificates",
    "LogisticGap": "certificates",
    "MistakeBound": "certificates",
    "MulticlassGap": "certificates",
    "MultinomialGap": "certificates",
    "InfeasibleError": "certificates",
    "NotSeparableError": "certificates",
    "NuGap": "certificates",
    "PerClass": "certificates",
    "PerPair": "certificates",
    "PerTarget": "certificates",
    "PerceptronRun": "certificates",
    "RidgeGap": "certificates",
    "ClassificationGap": "certificates",
    "RegressionGap": "certificates",
    "mistake_bound": "certificates",
    "ModelFileError": "files",
    "checkpoints": "files",
    "load": "files",
    "save": "files",
    "CheckpointError": "solvers",
    "LimitWarning": "solvers",
    "Status": "solvers",
    "HullDistance": "separability",
    "Separation": "separability",
    "hull_distance": "separability",
    "separate": "separability",
    "C_from_lambda": "problems",
    "Margins": "problems",
    "incremental_search_bound": "problems",
    "margin_perceptron_bound": "problems",
    "margins": "problems",
}

__all__ = sorted([*_HOME_OF, "__version__"])

if TYPE_CHECKING:
    from maxmargin.certificates import (
        Certificate,
        CertificateError,
        ClassificationGap,
        DualityGap,
        InfeasibleError,
        LassoGap,
        LogisticGap,
        MarginBracket,
        MistakeBound,
        MulticlassGap,
        MultinomialGap,
        NotSeparableError,
        NuGap,
        PerceptronRun,
        PerClass,
        PerPair,
        PerTarget,
        RegressionGap,
        RidgeGap,
        SparseGap,
        SVMGap,
        mistake_bound,
    )
    from maxmargin.estimators import (
        SVC,
        SVR,
        BayesianRegression,
        ElasticNet,
        KernelPerceptron,
        Lasso,
        LinearSVC,
        LinearSVR,
        LogisticRegression,
        MarginPerceptron,
        NuSVC,
        NuSVR,
        OneClassSVM,
        Perceptron,
        PosteriorSample,
        Ridge,
        calibrate,
        certify,
        enet_path,
        l1_min_c,
        lasso_path,
        svm_path,
    )
    from maxmargin.files import ModelFileError, checkpoints, load, save
    from maxmargin.problems import C_from_lambda, Margins, incremental_search_bound, margin_perceptron_bound, margins
    from maxmargin.separability import HullDistance, Separation, hull_distance, separate
    from maxmargin.solvers.core import CheckpointError, LimitWarning, Status

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF, submodules=("lectures",))
