"""``python -m themescope.jobs.cli`` and the command `themescope`, which accept Ctrl-C while modules are imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, see :mod:`themescope.jobs.cli.main`."""
    try:
        from themescope.jobs.cli.main import main as commands
    except KeyboardInterrupt:
        sys.stderr.write("Cancelled.\n")
        sys.exit(130)
    commands()


if __name__ == "__main__":
    main()
