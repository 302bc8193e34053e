"""What a plan leaks, and duplicated records."""

from statcv.arguments import offered as _offered
from statcv.folds.audit.duplicates import chosen_columns as chosen_columns
from statcv.folds.audit.duplicates import equal_records as equal_records
from statcv.folds.audit.duplicates import near_records as near_records
from statcv.folds.audit.duplicates import repeats_across_sites as repeats_across_sites
from statcv.folds.audit.duplicates import repeats_within_site as repeats_within_site
from statcv.folds.audit.duplicates import split_repeats as split_repeats
from statcv.folds.audit.findings import Audit as Audit
from statcv.folds.audit.likeness import UNLIKE as UNLIKE
from statcv.folds.audit.likeness import between_folds as between_folds
from statcv.folds.audit.seen_in_training import opposite_twins as opposite_twins
from statcv.folds.audit.seen_in_training import trained_on_equal as trained_on_equal
from statcv.folds.audit.training import BIASED as BIASED
from statcv.folds.audit.training import mean_model_auroc as mean_model_auroc
from statcv.folds.audit.training import training_means as training_means

__all__ = _offered(globals())
