"""Metrics: arrays in, numbers out.

Nothing in this package refers to folds, models or data frames. Higher scores always
point to the positive class. An undefined metric is NaN without a warning; the caller,
who knows the fold, counts such cases.
"""

from statcv.arguments import offered as _offered
from statcv.metrics.areas.delong_test import (
    DeLongContrast,
    DeLongTest,
    delong_contrast,
    delong_test,
)
from statcv.metrics.areas.placements import DeLong, delong, delong_covariance
from statcv.metrics.classification.classwise import (
    accuracy,
    brier,
    casewise_accuracy,
    casewise_brier,
    casewise_log_loss,
    log_loss,
)
from statcv.metrics.classification.confusion import (
    balanced_accuracy,
    ber,
    f1,
    matthews,
    npv,
    precision,
    sensitivity,
    specificity,
)
from statcv.metrics.classification.decision import (
    DecisionCurve,
    casewise_net_benefit,
    net_benefit,
    net_benefit_at,
)
from statcv.metrics.custom import get_metric, make_metric
from statcv.metrics.discrimination.bands import (
    CurveBand,
    pr_band,
    roc_band,
    roc_difference,
)
from statcv.metrics.discrimination.curves import (
    PrCurve,
    RocCurve,
    auprc,
    partial_auroc,
    pr_curve,
    roc_curve,
)
from statcv.metrics.discrimination.paired_roc import (
    PairedRoc,
    paired_roc,
    paired_roc_band,
)
from statcv.metrics.discrimination.ranking import (
    auroc,
    auroc_by_group,
    auroc_by_weight,
    auroc_hand_till,
    auroc_ovr,
    concordance,
    concordance_by_group,
    midrank,
    ranked_higher,
)
from statcv.metrics.discrimination.rounding import (
    round_probabilities,
    round_significant,
)
from statcv.metrics.metric import Metric
from statcv.metrics.numeric import casewise_mae, casewise_mse, mae, mse, r2, rmse
from statcv.metrics.probabilities.brier_terms import (
    BrierParts,
    CalibrationGroups,
    SpiegelhalterTest,
    brier_parts,
    brier_skill,
    calibration_groups,
    spiegelhalter_test,
)
from statcv.metrics.probabilities.calibration_measures import (
    Calibration,
    calibration,
    calibration_intercept,
    calibration_slope,
    discrimination_slope,
    oe_ratio,
)
from statcv.metrics.probabilities.distances import e50, e90, emax, ici
from statcv.metrics.probabilities.paired_slope import slope_of_pairs
from statcv.metrics.probabilities.smooth import CalibrationCurve, calibration_curve
from statcv.metrics.registry import METRICS, default_metrics, is_listed
from statcv.metrics.survival import (
    harrell_c,
    integrated_brier,
    integrated_brier_metric,
    survival_metrics,
    uno_c,
)

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return __all__
