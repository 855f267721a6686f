"""Speed of import: sentences beside plain sentence-splitter, wikitext cleaning beside mwparserfromhell.

    python benchmarks/import_speed.py [--megabytes 4]

The text is the Wikipedia dump fragment inside the gensim wheel. All figures are of one run on one machine, so that
ratios count. mwparserfromhell is part of the extra bench.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import mwparserfromhell
from sentence_splitter import SentenceSplitter as Package

from core.protocols import SILENT
from core.readers.mediawiki_dump import MediawikiDump, MediawikiDumpConfig, page_texts
from core.readers.outline import Outline
from core.readers.wikitext.links import Links
from core.readers.wikitext.page import read_page
from core.text.splitting import SentenceSplitter, split_articles
from core.types import Article
from jobs.services.demo import demo_dump


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def sentences(articles: list[Article]) -> None:
    """Print splitting speed: the package, ours in one process, ours in one process per core."""
    paragraphs = [p.text for a in articles for s in a.sections for p in s.paragraphs]
    size = sum(map(len, paragraphs)) / 1e6
    package, ours, cores = Package("en"), SentenceSplitter("en"), os.cpu_count() or 1
    plain = size / seconds(lambda: [package.split(p) for p in paragraphs])
    alone = size / seconds(lambda: [ours.split(p) for p in paragraphs])
    fanned = split_articles(iter(articles * 20), "en", cores)
    next(fanned)  # processes have started
    many = 20 * size / seconds(lambda: [None for _ in fanned])
    print(
        f"sentences   sentence-splitter {plain:6.2f} MB/s   ours {alone:6.2f} MB/s ({alone / plain:.1f} x)", end="   "
    )
    print(f"articles over {cores} processes {many:6.2f} MB/s ({many / plain:.1f} x)")
    same = sum(ours.split(p) == package.split(p) for p in paragraphs)
    print(f"            same boundaries in {same:,} of {len(paragraphs):,} paragraphs")


def cleaning(pages: list[str]) -> None:
    """Print cleaning speed in MB of wikitext a second."""
    size, links = sum(map(len, pages)) / 1e6, Links()
    ours = size / seconds(lambda: [read_page(page, Outline("x"), links, False) for page in pages])
    print(f"wikitext    ours {ours:6.2f} MB/s", end="   ")
    some = pages[: max(1, len(pages) // 8)]
    part = sum(map(len, some)) / 1e6
    theirs = part / seconds(lambda: [mwparserfromhell.parse(page).strip_code() for page in some])
    print(f"mwparserfromhell {theirs:6.2f} MB/s ({ours / theirs:.1f} x)")


def main() -> None:
    """Read the dump, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=4.0, help="wikitext to clean")
    limit = parser.parse_args().megabytes * 1e6
    articles = list(MediawikiDump(MediawikiDumpConfig()).read(demo_dump(), SILENT))
    pages: list[str] = []
    for text in page_texts(demo_dump()):
        if sum(map(len, pages)) < limit:
            pages.append(text)
    cleaning(pages)
    sentences(articles)


if __name__ == "__main__":
    main()
