"""The `scalatrace` command, also `python -m scalatrace`."""

import signal
import sys

# Ctrl-C while modules are imported ends the process as it does other programs, not with a traceback.
IS_INTERRUPTIBLE = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if IS_INTERRUPTIBLE:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run() -> int:
    """Run the command line of this process, and return the exit status."""
    from scalatrace.cli import main

    if IS_INTERRUPTIBLE:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())
