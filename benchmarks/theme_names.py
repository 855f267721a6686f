"""Names of themes: how many key words of the true theme a name has, on the claims of 58 debated motions.

    python -m benchmarks.theme_names FOLDER [--words 3] [--model static-wikipedia] [--show]

FOLDER has ``claims.tsv.gz`` of IBM Debater (EMNLP 2015). Each motion is a cluster, named from its claims alone. The key
words of a motion are its words of more than two letters without stop words and without the verbs of motions. A key word
counts as found if a word of the name is the same up to its last letters. Prints each half of the motions, for the
names, and for names with their subtitles: the most central sentences by the model.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from themescope import load
from themescope.core.clustering.naming import related, theme_words
from themescope.core.tasks.theme_counts import mean_cosines
from themescope.core.text.tokens import tokenize
from themescope.core.types import Labels

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
    parser.add_argument("--model", default="static-wikipedia", help="pretrained model that finds the central sentences")
    parser.add_argument("--show", action="store_true", help="print every name")
    args = parser.parse_args()
    with gzip.open(args.folder / "claims.tsv.gz", "rt", encoding="utf-8") as stream:
        rows = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    motions = sorted({row[0] for row in rows})
    labels = np.array([motions.index(row[0]) for row in rows], np.int32)
    texts = [row[2] for row in rows]
    names = theme_words(texts, labels, len(motions), args.words)
    subtitles = central_sentences(texts, labels, load(args.model))
    if args.show:
        for motion, name, subtitle in zip(motions, names, subtitles, strict=True):
            print(f"{' · '.join(name)} — {subtitle}  ({motion})")
    report("names", motions, names)
    report("with subtitles", motions, [(*name, subtitle) for name, subtitle in zip(names, subtitles, strict=True)])


def central_sentences(texts: list[str], labels: Labels, model: Any) -> list[str]:
    """Return the sentence of each cluster that is the most similar to the others of it."""
    own, _ = mean_cosines(model.encode(texts), labels, int(labels.max()) + 1)
    return [texts[max(np.flatnonzero(labels == c), key=lambda row: own[row])] for c in range(int(labels.max()) + 1)]


def report(what: str, motions: Sequence[str], names: Sequence[Sequence[str]]) -> None:
    """Print the shares of each half of the motions."""
    share = np.array([found_share(motion, name) for motion, name in zip(motions, names, strict=True)])
    half = np.array([zlib.crc32(motion.encode()) % 2 for motion in motions])
    for title, chosen in (("validation half", half == 0), ("test half", half == 1), ("all", half >= 0)):
        with_one, found = (share[chosen] > 0).mean(), share[chosen].mean()
        print(f"{what:16} {title:16} with a key word {with_one:.3f}  key words {found:.3f}")


def found_share(motion: str, name: Sequence[str]) -> float:
    """Return the share of the key words of a motion that are in a name."""
    said, keys = [token.lower() for part in name for token in tokenize(part)], key_words(motion)
    return sum(any(related(key, word) for word in said) for key in keys) / max(len(keys), 1)


if __name__ == "__main__":
    main()
