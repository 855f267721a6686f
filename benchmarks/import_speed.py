"""Compare the speed of sentence splitting with sentence-splitter, and of wikitext cleaning with mwparserfromhell.

    python benchmarks/import_speed.py [--megabytes 4]

The text is the Wikipedia dump fragment in the gensim wheel. Compare the ratios: absolute speeds depend on the machine.
mwparserfromhell is part of the extra ``bench``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial

import mwparserfromhell
from sentence_splitter import SentenceSplitter as Package

from themescope.core.readers.blocks import Outline
from themescope.core.readers.mediawiki_dump import MediawikiDump, MediawikiDumpConfig, _Parser, _why_skip
from themescope.core.readers.streams import open_stream
from themescope.core.readers.wikitext.page import LinkRemoval, read_page
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import SILENT, Article, Shard
from themescope.jobs.executors import LocalExecutor
from themescope.jobs.services.installation import demo_dump


def seconds(work: Callable[[], object]) -> float:
    """Return the wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def sentences(articles: list[Article]) -> None:
    """Print the speed of sentence splitting: the package, ours in one process, ours in one process per core."""
    paragraphs = [p.text for a in articles for s in a.sections for p in s.paragraphs]
    size = sum(map(len, paragraphs)) / 1e6
    package, ours, cores = Package("en"), SentenceSplitter("en"), os.cpu_count() or 1
    baseline = size / seconds(lambda: [package.split(p) for p in paragraphs])
    single = size / seconds(lambda: [ours.split(p) for p in paragraphs])
    with LocalExecutor() as executor:
        texts = (Shard(f"article {number}", article) for number, article in enumerate(articles * 20))
        parallel = executor.map(partial(split_article, splitter=ours), texts, report=SILENT)
        next(parallel)  # starting the processes is not timed
        all_cores = 20 * size / seconds(lambda: [None for _ in parallel])
    print(f"sentences   sentence-splitter {baseline:6.2f} MB/s", end="   ")
    print(f"ours {single:6.2f} MB/s ({single / baseline:.1f} x)", end="   ")
    print(f"articles over {cores} processes {all_cores:6.2f} MB/s ({all_cores / baseline:.1f} x)")
    same = sum(ours.split(p) == package.split(p) for p in paragraphs)
    print(f"            same boundaries in {same:,} of {len(paragraphs):,} paragraphs")


def cleaning(pages: list[str]) -> None:
    """Print the speed of wikitext cleaning in MB per second."""
    size, links = sum(map(len, pages)) / 1e6, LinkRemoval()
    ours = size / seconds(lambda: [read_page(page, Outline("x"), links, False) for page in pages])
    print(f"wikitext    ours {ours:6.2f} MB/s", end="   ")
    sample = pages[: max(1, len(pages) // 8)]
    sample_size = sum(map(len, sample)) / 1e6
    parser_speed = sample_size / seconds(lambda: [mwparserfromhell.parse(page).strip_code() for page in sample])
    print(f"mwparserfromhell {parser_speed:6.2f} MB/s ({ours / parser_speed:.1f} x)")


def main() -> None:
    """Read the dump and print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=4.0, help="megabytes of wikitext to clean")
    limit = parser.parse_args().megabytes * 1e6
    articles = list(MediawikiDump(MediawikiDumpConfig()).read(demo_dump(), SILENT))
    pages: list[str] = []
    with open_stream(demo_dump()) as stream:
        for page in _Parser(stream).pages():
            if not _why_skip(page) and sum(map(len, pages)) < limit:
                pages.append(page.text)
    cleaning(pages)
    sentences(articles)


if __name__ == "__main__":
    main()
