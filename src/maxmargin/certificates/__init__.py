"""Certificates of fitted models: computed from data and vectors alone, without any solver or compiled loop."""

from typing import TYPE_CHECKING

from maxmargin._lazy import lazy_names

_HOME_OF = {
    "Certificate": "base",
    "CertificateError": "base",
    "InfeasibleError": "base",
    "PerClass": "base",
    "PerPair": "base",
    "PerTarget": "base",
    "DualityGap": "duality_gap",
    "Geometry": "geometry",
    "linear_geometry": "geometry",
    "bracket_hard_margin": "hard_margin",
    "has_no_margin": "hard_margin",
    "measure_kernel_gap": "kernel_gap",
    "measure_pair_gaps": "kernel_gap",
    "LassoGap": "lasso_gap",
    "measure_lasso_gap": "lasso_gap",
    "LogisticGap": "logistic_gap",
    "measure_logistic_gap": "logistic_gap",
    "measure_partitioned_logistic_gap": "logistic_gap",
    "MarginBracket": "margin_bracket",
    "NotSeparableError": "margin_bracket",
    "bracket_margin": "margin_bracket",
    "BlockwiseBound": "mistake_bounds",
    "MistakeBound": "mistake_bounds",
    "PerceptronRun": "mistake_bounds",
    "UpdateRule": "mistake_bounds",
    "bound_mistakes": "mistake_bounds",
    "mistake_bound": "mistake_bounds",
    "MulticlassGap": "multiclass_gap",
    "measure_multiclass_gap": "multiclass_gap",
    "MultinomialGap": "multinomial_gap",
    "measure_multinomial_gap": "multinomial_gap",
    "NuGap": "nu_gap",
    "measure_nu_gap": "nu_gap",
    "measure_nu_pair_gaps": "nu_gap",
    "RidgeGap": "ridge_gap",
    "measure_partitioned_ridge_gap": "ridge_gap",
    "measure_ridge_gap": "ridge_gap",
    "SparseGap": "sparse_gap",
    "measure_sparse_gap": "sparse_gap",
    "measure_sparse_multinomial_gap": "sparse_multinomial_gap",
    "ClassificationGap": "svm_gap",
    "KKTClass": "kkt_conditions",
    "RegressionGap": "svm_gap",
    "SVMGap": "svm_gap",
    "kkt_classes": "kkt_conditions",
    "measure_gap": "svm_gap",
    "measure_gaps": "svm_gap",
    "measure_partitioned_gap": "svm_gap",
    "groups_of_tasks": "svm_gap",
}

__all__ = [
    "BlockwiseBound",
    "Certificate",
    "CertificateError",
    "ClassificationGap",
    "DualityGap",
    "Geometry",
    "InfeasibleError",
    "KKTClass",
    "LassoGap",
    "LogisticGap",
    "MarginBracket",
    "MistakeBound",
    "MulticlassGap",
    "MultinomialGap",
    "NotSeparableError",
    "NuGap",
    "PerClass",
    "PerPair",
    "PerTarget",
    "PerceptronRun",
    "RegressionGap",
    "RidgeGap",
    "SVMGap",
    "SparseGap",
    "UpdateRule",
    "bound_mistakes",
    "bracket_hard_margin",
    "bracket_margin",
    "groups_of_tasks",
    "has_no_margin",
    "kkt_classes",
    "linear_geometry",
    "measure_gap",
    "measure_gaps",
    "measure_kernel_gap",
    "measure_lasso_gap",
    "measure_logistic_gap",
    "measure_multiclass_gap",
    "measure_multinomial_gap",
    "measure_nu_gap",
    "measure_nu_pair_gaps",
    "measure_pair_gaps",
    "measure_partitioned_gap",
    "measure_partitioned_logistic_gap",
    "measure_partitioned_ridge_gap",
    "measure_ridge_gap",
    "measure_sparse_gap",
    "measure_sparse_multinomial_gap",
    "mistake_bound",
]

if TYPE_CHECKING:
    from maxmargin.certificates.base import Certificate, CertificateError, InfeasibleError, PerClass, PerPair, PerTarget
    from maxmargin.certificates.duality_gap import DualityGap
    from maxmargin.certificates.geometry import Geometry, linear_geometry
    from maxmargin.certificates.hard_margin import bracket_hard_margin, has_no_margin
    from maxmargin.certificates.kernel_gap import measure_kernel_gap, measure_pair_gaps
    from maxmargin.certificates.kkt_conditions import KKTClass, kkt_classes
    from maxmargin.certificates.lasso_gap import LassoGap, measure_lasso_gap
    from maxmargin.certificates.logistic_gap import LogisticGap, measure_logistic_gap, measure_partitioned_logistic_gap
    from maxmargin.certificates.margin_bracket import MarginBracket, NotSeparableError, bracket_margin
    from maxmargin.certificates.mistake_bounds import (
        BlockwiseBound,
        MistakeBound,
        PerceptronRun,
        UpdateRule,
        bound_mistakes,
        mistake_bound,
    )
    from maxmargin.certificates.multiclass_gap import MulticlassGap, measure_multiclass_gap
    from maxmargin.certificates.multinomial_gap import MultinomialGap, measure_multinomial_gap
    from maxmargin.certificates.nu_gap import NuGap, measure_nu_gap, measure_nu_pair_gaps
    from maxmargin.certificates.ridge_gap import RidgeGap, measure_partitioned_ridge_gap, measure_ridge_gap
    from maxmargin.certificates.sparse_gap import SparseGap, measure_sparse_gap
    from maxmargin.certificates.sparse_multinomial_gap import measure_sparse_multinomial_gap
    from maxmargin.certificates.svm_gap import (
        ClassificationGap,
        RegressionGap,
        SVMGap,
        groups_of_tasks,
        measure_gap,
        measure_gaps,
        measure_partitioned_gap,
    )

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
