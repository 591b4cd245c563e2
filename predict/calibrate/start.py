"""Run a campaign so that an error on one rank does not leave the others waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scalatrace.errors import ScalatraceError

if TYPE_CHECKING:
    from scalatrace.predict.calibrate.archive import Archive
    from scalatrace.predict.calibrate.campaign import Progress
    from scalatrace.predict.calibrate.plan import Settings

__all__ = ["run_guarded"]


def run_guarded(
    settings: Settings, command: Sequence[str], progress: Progress | None, thread_level: str
) -> tuple[Archive | None, ScalatraceError | None]:
    """Run a campaign. Returns its archive on rank 0, or the error that all ranks have.

    An error during the measurements, which one rank alone may have, ends all ranks.

    Args:
        thread_level: to start MPI with; mpi4py must not have been imported before.
    """
    import mpi4py

    rc: Any = mpi4py.rc
    rc.thread_level = thread_level
    from scalatrace.predict.calibrate.campaign import prepare, run_campaign

    try:
        site = prepare(settings)
    except ScalatraceError as error:
        return None, error
    try:
        return run_campaign(site, settings, command, progress), None
    except ScalatraceError as error:
        site.abort(str(error))
        return None, error
