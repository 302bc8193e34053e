"""Missing covariates, imputed in every training set."""

from statcv.arguments import offered as _offered
from statcv.models.imputation.imputed import Completed as Completed
from statcv.models.imputation.imputed import Imputed as Imputed
from statcv.models.imputation.imputed import ImputedFits as ImputedFits
from statcv.models.imputation.imputed import Imputer as Imputer
from statcv.models.imputation.imputed import Median as Median
from statcv.models.imputation.imputed import Mice as Mice
from statcv.models.imputation.imputed import imputed_fits as imputed_fits
from statcv.models.imputation.imputed import imputing as imputing

__all__ = _offered(globals())
