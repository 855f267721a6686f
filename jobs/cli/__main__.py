"""What the command `themescope` starts: Ctrl-C ends it in a word, even while the modules are still being read."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, see :mod:`jobs.cli.main`."""
    try:
        from jobs.cli.main import main as commands
    except KeyboardInterrupt:
        sys.stderr.write("Cancelled.\n")
        sys.exit(130)
    commands()


if __name__ == "__main__":
    main()
