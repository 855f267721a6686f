"""Names of themes: how many key words of the true theme a name has, on the claims of 58 debated motions.

    python -m benchmarks.theme_names FOLDER [--words 3] [--show]

FOLDER has ``claims.tsv.gz`` of IBM Debater (EMNLP 2015). Each motion is a cluster, named from its claims alone. The key
words of a motion are its words of more than two letters without stop words and without the verbs of motions. A key word
counts as found if a word of the name is the same up to its last letters. Prints each half of the motions.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import zlib
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from core.clustering.naming import related, theme_words
from core.text.tokens import tokenize

_MOTION_VERBS = frozenset(
    tokenize(
        "abolish abolished adopt allow ban banned believe believes criminal enforce encourage encouraged end endorse "
        "endorses house increase introduce limit limited make nation nations offence oppose opposes permit prohibit "
        "prohibited promote reduce require required should support supports use would"
    )
)


def key_words(motion: str) -> set[str]:
    """Return the words of a motion that say what it is about, in small letters."""
    words = {token.lower() for token in tokenize(motion) if len(token) > 2 and token.isalpha()}
    return words - ENGLISH_STOP_WORDS - _MOTION_VERBS


def main() -> None:
    """Print the shares for each half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--words", type=int, default=3, help="words or phrases of a name")
    parser.add_argument("--show", action="store_true", help="print every name")
    args = parser.parse_args()
    with gzip.open(args.folder / "claims.tsv.gz", "rt", encoding="utf-8") as stream:
        rows = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    motions = sorted({row[0] for row in rows})
    labels = np.array([motions.index(row[0]) for row in rows], np.int32)
    names = theme_words([row[2] for row in rows], labels, len(motions), args.words)
    shares = []
    for motion, name in zip(motions, names, strict=True):
        said = [token.lower() for part in name for token in tokenize(part)]
        keys = key_words(motion)
        shares.append(sum(any(related(key, word) for word in said) for key in keys) / max(len(keys), 1))
        if args.show:
            print(f"{' · '.join(name)}  ({motion})")
    share, half = np.array(shares), np.array([zlib.crc32(motion.encode()) % 2 for motion in motions])
    for title, chosen in (("validation half", half == 0), ("test half", half == 1), ("all", half >= 0)):
        print(
            f"{title:16} names with a key word {(share[chosen] > 0).mean():.3f}  key words {share[chosen].mean():.3f}"
        )


if __name__ == "__main__":
    main()
