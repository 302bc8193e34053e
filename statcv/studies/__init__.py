"""Studies: the simulators and experiments of the papers behind the package."""

from statcv.studies.ehr import simulate_ehr

__all__ = ["simulate_ehr"]
