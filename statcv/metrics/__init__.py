"""Metrics: arrays in, numbers out.

Nothing in this package refers to folds, models or data frames. Higher scores always
point to the positive class. An undefined metric is NaN without a warning; the caller,
who knows the fold, counts such cases.
"""

from statcv.arguments import offered as _offered
from statcv.metrics.areas.delong_test import DeLongContrast as DeLongContrast
from statcv.metrics.areas.delong_test import DeLongTest as DeLongTest
from statcv.metrics.areas.delong_test import delong_contrast as delong_contrast
from statcv.metrics.areas.delong_test import delong_test as delong_test
from statcv.metrics.areas.placements import DeLong as DeLong
from statcv.metrics.areas.placements import delong as delong
from statcv.metrics.areas.placements import delong_covariance as delong_covariance
from statcv.metrics.classification.classwise import accuracy as accuracy
from statcv.metrics.classification.classwise import brier as brier
from statcv.metrics.classification.classwise import (
    casewise_accuracy as casewise_accuracy,
)
from statcv.metrics.classification.classwise import casewise_brier as casewise_brier
from statcv.metrics.classification.classwise import (
    casewise_log_loss as casewise_log_loss,
)
from statcv.metrics.classification.classwise import log_loss as log_loss
from statcv.metrics.classification.confusion import (
    balanced_accuracy as balanced_accuracy,
)
from statcv.metrics.classification.confusion import ber as ber
from statcv.metrics.classification.confusion import f1 as f1
from statcv.metrics.classification.confusion import matthews as matthews
from statcv.metrics.classification.confusion import npv as npv
from statcv.metrics.classification.confusion import precision as precision
from statcv.metrics.classification.confusion import sensitivity as sensitivity
from statcv.metrics.classification.confusion import specificity as specificity
from statcv.metrics.classification.decision import DecisionCurve as DecisionCurve
from statcv.metrics.classification.decision import (
    casewise_net_benefit as casewise_net_benefit,
)
from statcv.metrics.classification.decision import net_benefit as net_benefit
from statcv.metrics.classification.decision import net_benefit_at as net_benefit_at
from statcv.metrics.custom import get_metric as get_metric
from statcv.metrics.custom import make_metric as make_metric
from statcv.metrics.discrimination.bands import CurveBand as CurveBand
from statcv.metrics.discrimination.bands import pr_band as pr_band
from statcv.metrics.discrimination.bands import roc_band as roc_band
from statcv.metrics.discrimination.bands import roc_difference as roc_difference
from statcv.metrics.discrimination.curves import PrCurve as PrCurve
from statcv.metrics.discrimination.curves import RocCurve as RocCurve
from statcv.metrics.discrimination.curves import auprc as auprc
from statcv.metrics.discrimination.curves import partial_auroc as partial_auroc
from statcv.metrics.discrimination.curves import pr_curve as pr_curve
from statcv.metrics.discrimination.curves import roc_curve as roc_curve
from statcv.metrics.discrimination.paired_roc import PairedRoc as PairedRoc
from statcv.metrics.discrimination.paired_roc import paired_roc as paired_roc
from statcv.metrics.discrimination.paired_roc import paired_roc_band as paired_roc_band
from statcv.metrics.discrimination.ranking import auroc as auroc
from statcv.metrics.discrimination.ranking import auroc_by_group as auroc_by_group
from statcv.metrics.discrimination.ranking import auroc_by_weight as auroc_by_weight
from statcv.metrics.discrimination.ranking import auroc_hand_till as auroc_hand_till
from statcv.metrics.discrimination.ranking import auroc_ovr as auroc_ovr
from statcv.metrics.discrimination.ranking import concordance as concordance
from statcv.metrics.discrimination.ranking import (
    concordance_by_group as concordance_by_group,
)
from statcv.metrics.discrimination.ranking import midrank as midrank
from statcv.metrics.discrimination.ranking import ranked_higher as ranked_higher
from statcv.metrics.discrimination.rounding import (
    round_probabilities as round_probabilities,
)
from statcv.metrics.discrimination.rounding import (
    round_significant as round_significant,
)
from statcv.metrics.metric import Metric as Metric
from statcv.metrics.numeric import casewise_mae as casewise_mae
from statcv.metrics.numeric import casewise_mse as casewise_mse
from statcv.metrics.numeric import mae as mae
from statcv.metrics.numeric import mse as mse
from statcv.metrics.numeric import r2 as r2
from statcv.metrics.numeric import rmse as rmse
from statcv.metrics.probabilities.brier_terms import BrierParts as BrierParts
from statcv.metrics.probabilities.brier_terms import (
    CalibrationGroups as CalibrationGroups,
)
from statcv.metrics.probabilities.brier_terms import (
    SpiegelhalterTest as SpiegelhalterTest,
)
from statcv.metrics.probabilities.brier_terms import brier_parts as brier_parts
from statcv.metrics.probabilities.brier_terms import brier_skill as brier_skill
from statcv.metrics.probabilities.brier_terms import (
    calibration_groups as calibration_groups,
)
from statcv.metrics.probabilities.brier_terms import (
    spiegelhalter_test as spiegelhalter_test,
)
from statcv.metrics.probabilities.calibration_measures import Calibration as Calibration
from statcv.metrics.probabilities.calibration_measures import calibration as calibration
from statcv.metrics.probabilities.calibration_measures import (
    calibration_intercept as calibration_intercept,
)
from statcv.metrics.probabilities.calibration_measures import (
    calibration_slope as calibration_slope,
)
from statcv.metrics.probabilities.calibration_measures import (
    discrimination_slope as discrimination_slope,
)
from statcv.metrics.probabilities.calibration_measures import oe_ratio as oe_ratio
from statcv.metrics.probabilities.distances import e50 as e50
from statcv.metrics.probabilities.distances import e90 as e90
from statcv.metrics.probabilities.distances import emax as emax
from statcv.metrics.probabilities.distances import ici as ici
from statcv.metrics.probabilities.paired_slope import slope_of_pairs as slope_of_pairs
from statcv.metrics.probabilities.smooth import CalibrationCurve as CalibrationCurve
from statcv.metrics.probabilities.smooth import calibration_curve as calibration_curve
from statcv.metrics.registry import METRICS as METRICS
from statcv.metrics.registry import default_metrics as default_metrics
from statcv.metrics.registry import is_listed as is_listed
from statcv.metrics.survival import harrell_c as harrell_c
from statcv.metrics.survival import integrated_brier as integrated_brier
from statcv.metrics.survival import integrated_brier_metric as integrated_brier_metric
from statcv.metrics.survival import survival_metrics as survival_metrics
from statcv.metrics.survival import uno_c as uno_c

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return __all__
