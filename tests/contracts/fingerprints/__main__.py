"""Command line: ``python -m tests.contracts.fingerprints [--write]``."""

import argparse
import sys

from tests.contracts import fingerprints
from tests.contracts.fingerprints.comparison import read, update, write


def main() -> int:
    """Compare, and with ``--write`` write; 1 where something is wrong afterwards."""
    parser = argparse.ArgumentParser(prog="python -m tests.contracts.fingerprints", description=fingerprints.__doc__)
    parser.add_argument("--write", action="store_true", help="write new fingerprints")
    wanted = parser.parse_args()
    found, changes = update(read())
    for reason, allowed in changes:
        outcome = ("written" if allowed else "refused") if wanted.write else "differs"
        sys.stdout.write(f"{outcome}: {reason}\n")
    if wanted.write:
        write(found)
    return int(any(not (wanted.write and change.allowed) for change in changes))


if __name__ == "__main__":
    sys.exit(main())
