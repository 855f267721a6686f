"""Time of readers on hostile files from 10 kB to 1.28 MB: one syntax element, repeated, mostly without its end.

    python -m benchmarks.reader_growth [--readers html markdown]

For each reader: the number of elements, the seconds of the slowest at 1.28 MB, and for every doubling the greatest
ratio of times among the elements, with the least of three times each. Elements with a ratio above 2.3 are listed below
the table with the ratios of two more doublings: a step at a single size is an effect of the processor's caches. Times
below 20 ms are not compared. Sentence splitting and tokenising are part of the reader ``plain``. The elements are those
of ``tests/core/readers/hostile.py``.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import pairwise
from pathlib import Path

from tests.core.readers.hostile import SYNTAX, TEXT, Parts
from tests.core.readers.test_growth import seconds
from themescope.core.readers import REGISTRY

SIZES = [10_000 << doubling for doubling in range(8)]
FLOOR_S = 0.02
LIMIT = 2.3
TRIES = 3


def least(path: Path, reader: str, parts: Parts, size: int) -> float:
    """Return the least seconds of several tries."""
    return min(seconds(path, reader, parts, size) for _ in range(TRIES))


def times(path: Path, reader: str, parts: Parts) -> list[float]:
    """Return the seconds at every size; sizes that are half of one below the floor are not measured, but 0."""
    found: list[float] = []
    for size in reversed(SIZES):
        found.insert(0, least(path, reader, parts, size))
        if found[0] < FLOOR_S:
            break
    return [0.0] * (len(SIZES) - len(found)) + found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", nargs="*", choices=REGISTRY.ids(), default=REGISTRY.ids())
    args = parser.parse_args()
    doublings = [f"{size // 1_000} kB" for size in SIZES[1:]]
    print("| reader | elements | slowest at 1.28 MB | " + " | ".join(f"to {s}" for s in doublings) + " |")
    print("|---|---|---|" + "---|" * len(doublings))
    above: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hostile"
        for reader in args.readers:
            cases = SYNTAX.get(reader, TEXT)
            found = [times(path, reader, parts) for parts in cases]
            slowest = max(range(len(cases)), key=lambda case: found[case][-1])
            element = f"{found[slowest][-1]:.2f} s, `{cases[slowest][1][:20]!r}`"
            greatest = [0.0] * len(doublings)
            for parts, each in zip(cases, found, strict=True):
                for i, doubling in enumerate(doublings):
                    ratio = each[i + 1] / each[i] if each[i] >= FLOOR_S else 0.0
                    greatest[i] = max(greatest[i], ratio)
                    if ratio > LIMIT:
                        further = [least(path, reader, parts, SIZES[-1] << n) for n in range(3)]
                        later = ", ".join(f"{b / a:.2f}" for a, b in pairwise(further))
                        above.append(f"{reader}, {parts[1][:20]!r}: {ratio:.2f} to {doubling}, later {later}")
            cells = [f"{ratio:.2f}" if ratio else "–" for ratio in greatest]
            print(f"| {reader} | {len(cases)} | {element} | {' | '.join(cells)} |", flush=True)
    print("\n".join(above))


if __name__ == "__main__":
    main()
