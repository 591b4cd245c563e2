"""Calibration: measure this machine, archive the measurements, and fit a platform to them.

In: ranks under mpiexec, or an archive. Out: an archive, and a `Platform` with kernel models.
"""

from scalatrace.predict.calibrate.archive import Archive, Measurement, read_archive
from scalatrace.predict.calibrate.fitting import Calibration, fit_archive

__all__ = ["Archive", "Calibration", "Measurement", "fit_archive", "read_archive"]
