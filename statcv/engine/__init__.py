"""Design × plan × model → predictions."""

from statcv.arguments import offered as _offered
from statcv.engine.checkpoint import PACKAGES, installed, kept_seed, write_whole
from statcv.engine.fit_messages import (
    check_training_sets,
    omit_new_levels,
    refuse_new_levels,
    warn_of_fits,
)
from statcv.engine.parallel import (
    check_jobs,
    do_tasks,
    one_thread,
    own_threads,
    progress_bar,
    returns_as_they_end,
    threads_after_fits,
)
from statcv.engine.per_fit import FoldFit, read_fits
from statcv.engine.permuted import OutcomePermutations, run_if_able, run_permuted
from statcv.engine.predictions import Held, Part
from statcv.engine.resampled import ResampledFits, run_everywhere, run_resampled
from statcv.engine.run import quiet_fits, run, run_quietly
from statcv.engine.setup import Setup, fit_all, records_of
from statcv.engine.tasks import TASKS, cut
from statcv.models.tuning import plain

__all__ = _offered(globals())
