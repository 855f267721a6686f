"""Names of themes on a sheet for readers, who do not know which way a name comes from.

    python -m benchmarks.names themes LISTS.json THEMES.json
    python -m benchmarks.names sheet THEMES.json SHEET.csv
    python -m benchmarks.names score THEMES.json RECORD.json --judged READER.csv…

LISTS is a JSON list of [kind, sentences, codes]; the first two letters of a kind are the language of its sentences.
``themes`` finds themes in each list, one for each 15 sentences, and names them; it goes on where it ended. Beside
these names are the three words of class-based tf-idf as in BERTopic (without stop words, which BERTopic keeps by
default), and the three of its first 100 words that are nearest to the sentences, as in KeyBERT, by the vectors of
MiniLM, or for other languages than English of the model that finds the themes. ``sheet`` draws 200 English themes and
20 of each other language (seed 0); there is a row for each different name of a theme, in random order, the first with
six central sentences. Readers write columns id and judgement (good, usable, bad). ``score`` records their judgements,
and prints shares by way and language, and the agreement of each two readers.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import cohen_kappa_score

from benchmarks._shared import QUICK
from themescope import find_themes
from themescope.core.clustering.naming import WordReader
from themescope.core.sentence_model import EncoderLike, load, vectors_of
from themescope.core.text.encoders import installed_encoder, load_encoder
from themescope.core.text.languages import stop_words
from themescope.core.types import Labels

OURS, OTHER_LANGUAGES = "find_themes", "universal-sentence-encoder"
SHOWN, LONGEST, MARKS = 6, 200, ("good", "usable", "bad")


def words_of_others(texts: list[str], labels: Labels, language: str, encoder: EncoderLike) -> dict[str, list[str]]:
    """Return way → three words for each theme."""
    reader = WordReader.of_list(texts)
    unspaced = {"analyzer": lambda text: [word.written for word in reader.words(text) if word.key]}
    stop = sorted(stop_words(frozenset(("en", language))))
    counter = CountVectorizer(**(unspaced if language in ("zh", "ja") else {"stop_words": stop}))
    counts, words = counter.fit_transform(texts), counter.get_feature_names_out()
    grouped = np.stack([np.asarray(counts[labels == c].sum(axis=0)).ravel() for c in range(int(labels.max()) + 1)])
    idf = np.log(1 + grouped.sum() / len(grouped) / grouped.sum(axis=0))
    first = [np.argsort(-row, kind="stable")[:100] for row in grouped / grouped.sum(axis=1, keepdims=True) * idf]
    x, used = vectors_of(encoder, texts), np.unique(first)
    y = dict(zip(used.tolist(), vectors_of(encoder, words[used].tolist()), strict=True))
    near = [
        np.array(sorted(own, key=lambda word: -float(y[word] @ x[labels == c].mean(axis=0))))
        for c, own in enumerate(first)
    ]
    ways = {"c-tf-idf, as BERTopic": first, "nearest words, as KeyBERT": near}
    return {way: [" · ".join(words[own[:3]]) for own in found] for way, found in ways.items()}


def themes(source: Path, target: Path) -> None:
    """Find and name the themes of the lists."""
    base, found = load_encoder(installed_encoder("the benchmark"), "the benchmark"), []
    if target.is_file():
        found = json.loads(target.read_text(encoding="utf-8"))
    for kind, texts, _ in json.loads(source.read_text(encoding="utf-8"))[len(found) :]:
        model = ("default", base) if kind.startswith("en") else (OTHER_LANGUAGES, load(OTHER_LANGUAGES))
        own = find_themes(texts, model[0], k=len(texts) // 15, settings=QUICK)
        ways = {OURS: [theme.name for theme in own.themes]} | words_of_others(texts, own.labels, kind[:2], model[1])
        found.append({"kind": kind, "central": [[texts[i] for i in one.central] for one in own.themes], "ways": ways})
        print(kind, len(texts), len(own.themes), flush=True)
        target.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


def drawn(known: list[dict[str, Any]]) -> list[tuple[str, list[str], dict[str, str], dict[str, str]]]:
    """Return kind, central sentences, id → name in random order and way → id of the drawn themes."""
    random, found = np.random.default_rng(0), []
    for language in dict.fromkeys(listed["kind"][:2] for listed in known):
        own = [(one, c) for one in known if one["kind"].startswith(language) for c in range(len(one["central"]))]
        for place in sorted(random.permutation(len(own))[: 200 if language == "en" else 20].tolist()):
            one, c = own[place]
            names = random.permutation(sorted({found[c] for found in one["ways"].values()})).tolist()
            ids = {name: f"{len(found) + 1}{'abc'[at]}" for at, name in enumerate(names)}
            ways = {way: ids[name[c]] for way, name in one["ways"].items()}
            found.append((one["kind"], one["central"][c], {id: name for name, id in ids.items()}, ways))
    return found


def score(sample: list[Any], readers: list[dict[str, str]], record: Path) -> None:
    """Record the judged names; print shares by way and language, and the agreement of the readers."""
    rows = [{"list": kind, **{way: [names[id], *(reader[id] for reader in readers)] for way, id in ways.items()}}
            for kind, _, names, ways in sample]  # fmt: skip
    record.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n", "utf-8")
    for language in ("", *dict.fromkeys(kind[:2] for kind, *_ in sample)):
        for way in list(rows[0])[1:]:
            own = [row[way] for row in rows if row["list"].startswith(language)]
            cells = [Counter(one[at] for one in own) for at in range(1, len(readers) + 1)]
            shares = [", ".join(f"{count[mark] / len(own):.0%}" for mark in MARKS) for count in cells]
            print(language or "all", len(own), way, *shares, sep=" | ")
    for one, other in combinations(readers, 2):
        given = [[reader[id] for _, _, names, _ in sample for id in names] for reader in (one, other)]
        kappa = [cohen_kappa_score(*given, labels=MARKS, weights=weights) for weights in (None, "linear")]
        print(f"{len(given[0])} names, agreement {np.mean(np.equal(*given)):.3f}, kappa and weighted kappa {kappa}")


def main() -> None:
    """Write themes or a sheet, or print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("themes", "sheet", "score"))
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--judged", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    if args.step == "themes":
        themes(args.source, args.target)
        return
    sample = drawn(json.loads(args.source.read_text(encoding="utf-8")))
    if args.step == "score":
        tables = [list(csv.DictReader(file.open(encoding="utf-8"))) for file in args.judged]
        score(sample, [{row["id"]: row["judgement"].strip().lower() for row in rows} for rows in tables], args.target)
        return
    with args.target.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["id", "texts", "name"])
        for _, central, names, _ in sample:
            shown = " | ".join(" ".join(text.split())[:LONGEST] for text in central[:SHOWN])
            rows.writerows([id, shown if at == 0 else "", name] for at, (id, name) in enumerate(names.items()))


if __name__ == "__main__":
    main()
