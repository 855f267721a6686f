"""Make the lists of `benchmarks.list_themes` and `benchmarks.repeated_texts`, of fifteen kinds.

    python -m benchmarks.lists LISTS.json --claims FOLDER --newsgroups FOLDER --reuters FOLDER --articles FILES…
        --similar FILES… --papers FILE --clones FOLDER [--split test] [--seed 0] [--whole 3000]

Written is a JSON list of [kind, sentences, codes] with different sentences in random order: claims and evidence by
motion (IBM Debater, *.tsv.gz); messages of newsgroups, their sentences and subjects (*.jsonl.xz); titles of documents
of Reuters-21578 with a single topic (*.sgm.gz); sentences of papers by paper (ScisummNet), of Wikipedia articles by
article, of similar articles by article and by heading, and of articles by article and heading (JSON lines). Clones of
GitHub's clinc/oos-eval, PolyAI-LDN/task-specific-datasets and dylanell/short-text-cluster have the kinds of
``OF_CLONES``, of which nothing is validation data: intents, questions to a bank and to programmers, and headlines of
news. A list has a uniform number of codes, and of each a uniform number of sentences, or all if there are fewer. With
``--whole``, there is one list of each kind with so many random rows of all codes. Motions, groups, topics and papers
are of the validation or test half by the hash of `benchmarks.theme_counts`, articles by the split of their titles. In
kinds of ``TWO_LEVELS`` the part of a code before the first point is a coarser code.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.theme_counts import bucket
from themescope.core.readers import REGISTRY as READERS
from themescope.core.readers.published import ReutersSgml, ReutersSgmlConfig
from themescope.core.text.splitting import SentenceSplitter
from themescope.core.types import SILENT, Article, Split, split_of_title

KINDS = {"motions": (2, 29, 10, 40, 15, 30), "messages": (3, 10, 30, 90, 8, 8), "sentences": (3, 10, 30, 90, 8, 8),
         "titles": (3, 13, 15, 60, 8, 8), "subjects": (3, 10, 30, 90, 6, 6), "evidence": (3, 12, 10, 40, 6, 6),
         "of articles": (4, 40, 8, 40, 8, 8), "papers": (4, 20, 10, 40, 6, 6),
         "articles and headings": (0, 0, 8, 15, 4, 4)}  # fmt: skip
"""Kind → fewest and most codes, fewest and most sentences of a code, number of validation and of test lists."""
OF_CLONES = {"intents": (10, 60, 8, 30, 0, 4), "bank": (10, 40, 8, 40, 0, 4), "programming": (5, 20, 15, 60, 0, 4),
             "news": (3, 4, 60, 150, 0, 3)}  # fmt: skip
EVERY = KINDS | OF_CLONES
SIMILAR = 8
"""Number of lists of sentences of similar articles by article, and by heading."""
TWO_LEVELS = ("messages", "sentences", "subjects", "intents", "articles and headings")
SHORTEST, LONGEST, TOKENS = 80, 1_000, range(5, 51)  # characters of a message, and words of a sentence
MARKS = re.compile(r"\[REF\d*\]|^(?:re\s*:\s*)+| ?\([^()]*\)$", re.I)  # references, replies, and numbers of documents
SPLITTER = SentenceSplitter("en")


class OneTopic(ReutersSgml):
    """Reader of the documents of the ModApte split that have a single topic, whichever it is."""

    def _topic(self, attributes: dict[str, str], text: str) -> tuple[str, str]:
        listed = re.findall("<D>([^<]+)</D>", text.partition("<TOPICS>")[2].partition("</TOPICS>")[0])
        inside = attributes.get("LEWISSPLIT") in ("TRAIN", "TEST") and len(listed) == 1
        return (listed[0], "") if inside else ("", "not one topic")


def texts_of(article: Article, kind: str) -> list[str]:
    """Return the texts of an article, a message, a document or a motion for a list of some kind."""
    paragraphs = [" ".join(part.text.split()) for section in article.sections for part in section.paragraphs]
    if kind in ("titles", "subjects"):
        return [MARKS.sub("", article.title)]
    if kind in ("motions", "evidence"):
        return [MARKS.sub("", text) for text in paragraphs]
    if kind == "messages":
        return [text[:LONGEST] for text in [" ".join(paragraphs)] if len(text) >= SHORTEST]
    return [s for text in paragraphs for s in SPLITTER.split(text) if len(s.split()) in TOKENS]


def found(args: argparse.Namespace) -> Iterator[tuple[str, str, list[str]]]:
    """Yield kind, code and texts of the half or split."""
    claims = {"text": "Claim original text", "title": "Topic", "rows": "sentences"}
    for kinds, reader, files in (
        (["motions"], READERS.build("table", claims), [args.claims / "claims.tsv.gz"]),
        (["evidence"], READERS.build("table", claims | {"text": "Evidence"}), [args.claims / "evidence.tsv.gz"]),
        (["messages", "sentences", "subjects"], READERS.build("newsgroups"), args.newsgroups.glob("*.jsonl.xz")),
        (["titles"], OneTopic(ReutersSgmlConfig()), args.reuters.glob("*.sgm.gz")),
        (["of articles", "articles and headings"], READERS.build("jsonl"), args.articles),
    ):
        for article in (article for file in sorted(files) for article in reader.read(file, SILENT)):
            code = article.topic or article.title
            half = Split.TEST if bucket(code) else Split.VALIDATION
            if args.split is (split_of_title(code) if "of articles" in kinds else half):
                yield from ((kind, code, texts_of(article, kind)) for kind in kinds if kind != "articles and headings")
                if "of articles" in kinds and len(parts := by_heading(article)) >= 3:
                    title = code.replace(".", "")
                    yield from (("articles and headings", f"{title}.{heading}", own) for heading, own in parts.items())
    with lzma.open(args.papers, "rt", encoding="utf-8") as lines:
        for paper in map(json.loads, lines):
            if args.split is (Split.TEST if bucket(paper["id"]) else Split.VALIDATION):
                sentences = [s for section in paper["sections"] for s in section["sentences"]]
                yield "papers", paper["title"], [s for s in sentences if len(s.split()) in TOKENS]
    if args.split is Split.TEST:
        yield from ((kind, code, [text]) for kind, code, text in of_clones(args.clones))


def of_clones(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield kind, code and text."""
    intents, bank, short = folder / "oos-eval/data", folder / "task-specific-datasets", folder / "short-text-cluster"
    domains = {
        code: name for name, codes in json.loads((intents / "domains.json").read_text()).items() for code in codes
    }
    for rows in json.loads((intents / "data_full.json").read_text("utf-8")).values():
        yield from (("intents", f"{domains[code]}.{code}", text) for text, code in rows if code in domains)
    for name in ("train", "test"):
        with (bank / "banking_data" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
            yield from (("bank", code, text) for text, code in islice(csv.reader(stream), 1, None))
    titles = [
        (short / f"datasets/stk-ovflw/{name}_StackOverflow.txt").read_text("utf-8") for name in ("title", "label")
    ]
    yield from (("programming", code, text) for text, code in zip(*(t.splitlines() for t in titles), strict=True))
    with (short / "datasets/ag-news/test.csv").open(encoding="utf-8", newline="") as stream:
        yield from (("news", code, MARKS.sub("", title)) for code, title, _ in csv.reader(stream))


def by_heading(article: Article) -> dict[str, list[str]]:
    """Return heading → sentences of an article, without its lead and headings of few sentences."""
    fewest, found = KINDS["articles and headings"][2], dict[str, list[str]]()
    for section in article.sections:
        own = [s for part in section.paragraphs for s in SPLITTER.split(part.text) if len(s.split()) in TOKENS]
        found.setdefault(section.title.casefold(), []).extend(own)
    return {heading: own for heading, own in found.items() if heading and len(own) >= fewest}


def similar(articles: Sequence[Article], random: np.random.Generator) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield lists of articles with similar words: of the nearest ones by article, and of 60 by common headings."""
    parts = [by_heading(article) for article in articles]
    texts = [" ".join(s for own in sections.values() for s in own) for sections in parts]
    x = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.1, sublinear_tf=True).fit_transform(texts)
    for first in random.permutation(np.flatnonzero([len(sections) >= 2 for sections in parts])):
        near = np.argsort(-(x @ x[[first]].T).toarray().ravel(), kind="stable")[:60].tolist()
        pools: list[dict[str, list[str]]] = [{}, {}]
        nearest = int(random.integers(5, 10))
        for place, article in enumerate(near):
            for heading, own in parts[article].items():
                if place < nearest:
                    pools[0].setdefault(articles[article].title, []).extend(own)
                pools[1].setdefault(heading, []).extend(random.permutation(own)[:6].tolist())
        for kind, pool, most in zip(("similar articles", "headings"), pools, (30, 60), strict=True):
            chosen = [c for c in pool if len(set(pool[c])) >= (10 if kind == "similar articles" else 20)][:8]
            sizes = random.integers(most // 3, most + 1, len(chosen))
            rows = {t: c for c, n in zip(chosen, sizes, strict=True) for t in random.permutation(pool[c])[:n].tolist()}
            if len(chosen) >= 3:
                order = random.permutation(sorted(rows)).tolist()
                yield kind, order, [rows[text] for text in order]


def by_code(given: Iterable[tuple[str, str, list[str]]]) -> dict[str, dict[str, list[str]]]:
    """Return kind → code → different texts, without texts of several codes and codes with few texts."""
    rows = dict.fromkeys((kind, code, " ".join(text.split())) for kind, code, own in given for text in own)
    codes, pools = Counter((kind, text) for kind, _, text in rows), {kind: dict[str, list[str]]() for kind in EVERY}
    for kind, code, text in rows:
        if text and codes[kind, text] == 1:
            pools[kind].setdefault(code, []).append(text)
    return {kind: {c: own for c, own in pool.items() if len(own) >= EVERY[kind][2]} for kind, pool in pools.items()}


def drawn(kind: str, pool: Mapping[str, list[str]], random: np.random.Generator) -> tuple[str, list[str], list[str]]:
    """Return a list: its kind, texts and their codes."""
    low, high, fewest, most, *_ = EVERY[kind]
    names = random.permutation(sorted(pool))[: random.integers(low, min(high, len(pool)) + 1)].tolist()
    if kind == "articles and headings":
        titles = random.permutation(sorted({name.partition(".")[0] for name in pool}))[: random.integers(4, 8)].tolist()
        names = [name for name in sorted(pool) if name.partition(".")[0] in titles]
    rows = [(t, name) for name in names for t in random.permutation(pool[name])[: random.integers(fewest, most + 1)]]
    texts, codes = np.transpose(random.permutation(rows)).tolist()
    return kind, texts, codes


def main() -> None:
    """Write the lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    for name in ("--claims", "--newsgroups", "--reuters", "--papers", "--articles", "--similar", "--clones"):
        parser.add_argument(name, type=Path, required=True, nargs="+" if name in ("--articles", "--similar") else None)
    parser.add_argument("--split", type=Split, default=Split.TEST, choices=(Split.VALIDATION, Split.TEST))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", type=int, default=0)
    args = parser.parse_args()
    pools, random, count = by_code(found(args)), np.random.default_rng(args.seed), 4 + (args.split is Split.TEST)
    if args.whole:
        rows = {kind: [(t, c) for c in sorted(pool) for t in pool[c]] for kind, pool in pools.items()}
        some = {kind: [own[i] for i in random.permutation(len(own))[: args.whole]] for kind, own in rows.items()}
        lists = [(kind, [text for text, _ in own], [code for _, code in own]) for kind, own in some.items()]
    else:
        lists = [drawn(kind, pools[kind], random) for kind in KINDS for _ in range(KINDS[kind][count])]
        read = (article for file in sorted(args.similar) for article in READERS.build("jsonl").read(file, SILENT))
        near = similar([article for article in read if split_of_title(article.title) is args.split], random)
        lists += sorted(islice(near, 2 * SIMILAR), key=lambda one: one[0])
        lists += [drawn(kind, pools[kind], random) for kind, own in OF_CLONES.items() for _ in range(own[count])]
    args.lists.write_text(json.dumps(lists, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
