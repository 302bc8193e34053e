"""Design × plan × model → predictions."""

from statcv.arguments import offered as _offered
from statcv.engine.checkpoint import PACKAGES as PACKAGES
from statcv.engine.checkpoint import installed as installed
from statcv.engine.checkpoint import kept_seed as kept_seed
from statcv.engine.fit_messages import check_training_sets as check_training_sets
from statcv.engine.fit_messages import omit_new_levels as omit_new_levels
from statcv.engine.fit_messages import refuse_new_levels as refuse_new_levels
from statcv.engine.fit_messages import warn_of_fits as warn_of_fits
from statcv.engine.parallel import check_jobs as check_jobs
from statcv.engine.parallel import do_tasks as do_tasks
from statcv.engine.parallel import one_thread as one_thread
from statcv.engine.parallel import own_threads as own_threads
from statcv.engine.parallel import progress_bar as progress_bar
from statcv.engine.parallel import returns_as_they_end as returns_as_they_end
from statcv.engine.parallel import threads_after_fits as threads_after_fits
from statcv.engine.predictions import Held as Held
from statcv.engine.predictions import Part as Part
from statcv.engine.refits import FoldFit as FoldFit
from statcv.engine.refits import OutcomePermutations as OutcomePermutations
from statcv.engine.refits import ResampledFits as ResampledFits
from statcv.engine.refits import read_fits as read_fits
from statcv.engine.refits import run_everywhere as run_everywhere
from statcv.engine.refits import run_if_able as run_if_able
from statcv.engine.refits import run_permuted as run_permuted
from statcv.engine.refits import run_resampled as run_resampled
from statcv.engine.run import quiet_fits as quiet_fits
from statcv.engine.run import run as run
from statcv.engine.run import run_quietly as run_quietly
from statcv.engine.setup import Setup as Setup
from statcv.engine.setup import fit_all as fit_all
from statcv.engine.setup import records_of as records_of
from statcv.engine.tasks import TASKS as TASKS
from statcv.engine.tasks import cut as cut
from statcv.models.tuning import plain as plain

__all__ = _offered(globals())
