"""Names of themes on a sheet for a reader, who does not know which way a name comes from.

    python -m benchmarks.names themes LISTS.json THEMES.json
    python -m benchmarks.names sheet THEMES.json SHEET.tsv [--names 100] [--seed 0]
    python -m benchmarks.names score THEMES.json SHEET.tsv [--names 100] [--seed 0]

LISTS is a JSON list of [kind, sentences, codes]; the first two letters of a kind are the language of its sentences.
``themes`` finds the themes of each list and names them; again with the same file, it names the same themes and keeps
the former names as a way of their own. ``sheet`` draws themes and writes for each its central sentences and, in random
order, the name of each way and the three words of class-based tf-idf without stop words. A reader writes g, u or b
(good, usable, bad) before each name. ``score`` counts by way, also for English alone.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from themescope import find_themes
from themescope.core.clustering.naming import theme_names, theme_words
from themescope.core.text.languages import stop_words
from themescope.core.types import Labels

OTHER_LANGUAGES, QUICK = "universal-sentence-encoder", {"sample": 10, "subsamples": 1}
SHOWN, LONGEST = 5, 160


def frequent_words(texts: list[str], labels: Labels, language: str) -> list[str]:
    """Return three words of class-based tf-idf for each theme."""
    kind = "char" if language in ("zh", "ja") else "word"
    counter = CountVectorizer(
        stop_words=sorted(stop_words(frozenset(("en", language)))),
        analyzer=kind,
        ngram_range=(2, 2) if kind == "char" else (1, 1),
    )
    counts, words = counter.fit_transform(texts), counter.get_feature_names_out()
    grouped = np.stack([np.asarray(counts[labels == c].sum(axis=0)).ravel() for c in range(int(labels.max()) + 1)])
    weights = TfidfTransformer(norm=None).fit_transform(grouped).toarray()
    return [" · ".join(words[np.argsort(-row, kind="stable")[:3]]) for row in weights]


def themes(source: Path, target: Path) -> None:
    """Find and name the themes of the lists; name them again where they are known."""
    known: list[dict[str, Any]] = json.loads(target.read_text(encoding="utf-8")) if target.exists() else []
    for kind, texts, _ in json.loads(source.read_text(encoding="utf-8"))[len(known) :]:
        model = "default" if kind.startswith("en") else OTHER_LANGUAGES
        found = find_themes(texts, model, settings=QUICK)
        central = [[texts[row] for row in theme.central] for theme in found.themes]
        words = frequent_words(texts, found.labels, kind[:2])
        known.append({"kind": kind, "texts": texts, "labels": found.labels.tolist(), "central": central,
                      "ways": {"c-tf-idf": words}})  # fmt: skip
    for listed in known:
        texts, labels = listed["texts"], np.array(listed["labels"], np.int32)
        listed["ways"][f"run {len(listed['ways'])}"] = theme_names(
            theme_words(texts, labels, len(listed["central"])), listed["central"]
        )
    target.write_text(json.dumps(known, ensure_ascii=False), encoding="utf-8")


def drawn(known: list[dict[str, Any]], names: int, seed: int) -> list[tuple[str, list[str], dict[str, str]]]:
    """Return kind, central sentences and way → name, in random order, of themes drawn from all lists."""
    every = [(listed, c) for listed in known for c in range(len(listed["central"]))]
    random = np.random.default_rng(seed)
    found = []
    for place in sorted(random.permutation(len(every))[:names].tolist()):
        listed, c = every[place]
        ways = random.permutation(sorted(listed["ways"])).tolist()
        found.append((listed["kind"], listed["central"][c], {way: listed["ways"][way][c] for way in ways}))
    return found


def main() -> None:
    """Write themes or a sheet, or print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("themes", "sheet", "score"))
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--names", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.step == "themes":
        themes(args.source, args.target)
        return
    sample = drawn(json.loads(args.source.read_text(encoding="utf-8")), args.names, args.seed)
    if args.step == "sheet":
        lines = []
        for number, (kind, central, ways) in enumerate(sample, 1):
            lines += [f"## {number} {kind}", *(f"#   {' '.join(text.split())[:LONGEST]}" for text in central[:SHOWN])]
            # One line for a name that several ways give.
            lines += [f"?\t{name}" for name in dict.fromkeys(ways.values())]
        args.target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    blocks = args.target.read_text(encoding="utf-8").split("\n## ")
    judged = [dict(reversed(line.split("\t", 1)) for line in block.splitlines() if "\t" in line) for block in blocks]
    for language in ("", "en"):
        counts: dict[str, Counter[str]] = {}
        for (kind, _, ways), given in zip(sample, judged, strict=True):
            for way, name in ways.items():
                counts.setdefault(way, Counter()).update([given[name].strip()] if kind.startswith(language) else [])
        for way, count in sorted(counts.items()):
            print(
                language or "all", way, count.total(), *(f"{mark} {count[mark] / count.total():.0%}" for mark in "gub")
            )


if __name__ == "__main__":
    main()
