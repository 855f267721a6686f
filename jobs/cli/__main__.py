"""Entry point of the command `themescope`, which handles Ctrl-C even while modules are imported."""

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
