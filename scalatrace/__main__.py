"""`python -m scalatrace` is the `scalatrace` command."""

import sys

from scalatrace.cli import main

if __name__ == "__main__":
    sys.exit(main())
