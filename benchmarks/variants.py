"""Write variants of articles, from which corpora of any size are imported.

    python -m benchmarks.variants FILE.jsonl.xz ... --out FOLDER [--variants 10] [--replaced 0.1]

Variant 0 of an article is the article itself. In every other one, the sentences of each section are in a random order,
and each word is replaced with probability ``--replaced`` by a random word of the same article; the title carries the
number of the variant. Repeated titles are numbered. The files, one per variant, are equal in every run.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.text.splitting import SentenceSplitter

Json = dict[str, Any]


def articles(files: Sequence[Path]) -> Iterator[Json]:
    """Yield the articles of compressed JSON lines, with distinct titles."""
    seen: Counter[str] = Counter()
    for file in files:
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            for article in map(json.loads, lines):
                title = article["title"]
                seen[title] += 1
                yield article | {"title": title if seen[title] == 1 else f"{title} ({seen[title]})"}


def variants(article: Json, splitter: SentenceSplitter, number: int, replaced: float, seed: int) -> Iterator[Json]:
    """Yield ``number`` variants of an article, the article itself first."""
    yield article
    sections = [
        [sentence.split(" ") for paragraph in section["paragraphs"] for sentence in splitter.split(paragraph)]
        for section in article["sections"]
    ]
    words = [word for sentences in sections for sentence in sentences for word in sentence]
    for variant in range(1, number):
        rng = np.random.default_rng([seed, variant])
        changed = []
        for section, sentences in zip(article["sections"], sections, strict=True):
            order = rng.permutation(len(sentences)).tolist()
            text = [list(sentences[i]) for i in order]
            for sentence in text:
                for place in np.flatnonzero(rng.random(len(sentence)) < replaced).tolist():
                    sentence[place] = words[int(rng.integers(len(words)))]
            changed.append(section | {"paragraphs": [" ".join(map(" ".join, text))] if text else []})
        yield article | {"title": f"{article['title']} (variant {variant})", "sections": changed}


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variants", type=int, default=10)
    parser.add_argument("--replaced", type=float, default=0.1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    splitter = SentenceSplitter("en")
    with ExitStack() as stack:
        names = [args.out / f"variant-{i:02}.jsonl" for i in range(args.variants)]
        streams = [stack.enter_context(name.open("w", encoding="utf-8")) for name in names]
        for seed, article in enumerate(articles(args.files)):
            for stream, variant in zip(
                streams, variants(article, splitter, args.variants, args.replaced, seed), strict=True
            ):
                stream.write(json.dumps(variant, ensure_ascii=False) + "\n")
    print(f"{seed + 1:,} articles in {args.variants} variants in {args.out}")


if __name__ == "__main__":
    main()
