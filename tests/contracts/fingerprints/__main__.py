"""Command line: ``python -m tests.contracts.fingerprints [--write]``."""

import argparse
import sys
from collections.abc import Mapping

from tests.contracts import fingerprints
from tests.contracts.fingerprints.comparison import FAMILIES, Family, read, update, write


def main(arguments: list[str] | None = None, families: Mapping[str, Family] = FAMILIES) -> int:
    """Compare, and with ``--write`` write; 1 where something is wrong afterwards."""
    parser = argparse.ArgumentParser(prog="python -m tests.contracts.fingerprints", description=fingerprints.__doc__)
    parser.add_argument("--write", action="store_true", help="write new fingerprints")
    wanted = parser.parse_args(arguments)
    found, changes = update(read(), families)
    for change in changes:
        outcome = ("written" if change.allowed else "refused") if wanted.write else "differs"
        sys.stdout.write(f"{outcome}: {change}\n")
    if wanted.write:
        write(found)
    return int(any(not (wanted.write and change.allowed) for change in changes))


if __name__ == "__main__":
    sys.exit(main())
