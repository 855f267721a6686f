"""Hostile input of four times the size takes about four times as long, in every reader and in all that follows it.

Time is that of the thread, which a loaded machine hardly changes; the limit is twice the growth of linear work, and
half of that of quadratic work. A case fails only if it does so three times.
"""

import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.core.readers.hostile import SYNTAX, TEXT, Parts, file_of, repeated
from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.formats import detect
from themescope.core.text.languages import content_words, tokenize
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import SILENT, Article

SIZE = 1_000
GROWTH = 8.0
"""Maximum ratio of the times at four times the size; linear work has 4, quadratic work 16."""
FLOOR_S = 0.02
"""Times below this are not compared."""
TRIES = 3


def read_and_split(path: Path, reader: str) -> None:
    """Detect the format and read the file; split the sentences and the tokens of plain text, which is kept as it is."""
    with suppress(ReadError):  # a user can choose the reader
        detect(path)
    articles: list[Article] = []
    with suppress(ReadError):
        articles += REGISTRY.build(reader).read(path, SILENT)
    for article in articles if reader == "plain" else ():
        split = split_article(article, SentenceSplitter("en"))
        for sentence in (s for section in split.sections for p in section.paragraphs for s in p.sentences):
            tokenize(sentence)
            content_words(sentence)


def seconds(path: Path, reader: str, parts: Parts, size: int) -> float:
    path.write_bytes(file_of(reader, repeated(parts, size)))
    start = time.thread_time()
    read_and_split(path, reader)
    return time.thread_time() - start


def grows(path: Path, reader: str, parts: Parts, size: int) -> str:
    """Return a description of a case that grows too much, "" for others."""
    description = ""
    for _ in range(TRIES):
        large = seconds(path, reader, parts, 4 * size)
        if large <= FLOOR_S * size / SIZE:
            return ""
        small = seconds(path, reader, parts, size)
        if large <= GROWTH * small:
            return ""
        description = f"{tuple(part[:20] for part in parts)}: {small:.3f} s, {large:.3f} s"
    return description


@pytest.mark.parametrize("size", [SIZE, pytest.param(250 * SIZE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("reader", REGISTRY.ids())
def test_time_grows_with_the_size_of_hostile_input(reader: str, size: int, tmp_path: Path) -> None:
    cases = (grows(tmp_path / "hostile", reader, parts, size) for parts in SYNTAX.get(reader, TEXT))
    assert [case for case in cases if case] == []
