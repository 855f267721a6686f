"""Mutated files of every reader and of lists: they are read, or refused with a sentence, in little time and memory."""

import io
import re
import time
import zlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import Random

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.core.readers.samples import MESSAGE, WIKITEXT, archive, dump, page, workbook
from tests.mutations.mutate import mutated
from themescope.core.columns import Profile
from themescope.core.errors import ThemescopeError
from themescope.core.readers import REGISTRY
from themescope.core.readers.formats import detect, preview, sample
from themescope.core.readers.tables import read_sheet
from themescope.core.types import SILENT

FEW, MANY = 50, 500  # of each format: in `make test`, and beside these in `make attacks`
MOST_SECONDS = 10.0
MOST_GROWTH = 500_000_000
"""Bytes by which the memory of the process may grow over all mutations of a format."""


def read(path: Path, reader: str) -> None:
    """Detect the format, preview the file, and read it with the given reader in any case."""
    try:
        detect(path)
        preview(path)
    except ThemescopeError as error:
        check_message(error, path)
    list(REGISTRY.build(reader).read(path, SILENT))


def read_wikitext(path: Path, _: str) -> None:
    """Read the file as the text of a page of a dump, which has no characters that XML excludes."""
    text = re.sub(r"[^\t\n -\ud7ff\ue000-\ufffd]", "", path.read_bytes().decode("utf-8", "replace"))
    path.write_bytes(dump(page("Ada", text)))
    read(path, "mediawiki-dump")


def read_list(path: Path, _: str) -> None:
    sheet = read_sheet(path)
    assert sheet.likely_columns()[0] in sheet.columns
    assert all(len(row) == len(sheet.columns) for row in sheet.rows)


def read_table(path: Path, _: str) -> None:
    for article in REGISTRY.build("table").read(path, SILENT):
        assert all(len(values) == article.sentence_count() for values in article.sentence_values.values())
        for values in [article.values.values(), *article.sentence_values.values()]:
            profile = Profile()
            profile.add(values)
            assert profile.values == len(values)


def check_message(error: ThemescopeError, path: Path) -> None:
    """A message names the file, ends as a sentence, and is short."""
    text = str(error)
    assert path.name in text and text.endswith((".", "?", ")")) and len(text) < 2_000, text[:500]


def _parquet() -> bytes:
    """A table with a column of every type that readers tell apart."""
    content = io.BytesIO()
    columns = {
        "sentence": ["It was founded.", "Then it grew."],
        "year": [1200, None],
        "share": [0.5, float("nan")],
        "made": [datetime(2020, 1, 5), None],
        "place": pa.array(["Ada", "Bea"]).dictionary_encode(),
        "tags": [["a"], []],
    }
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


LISTS = {
    "csv": b'sentence,source\n"It was, founded.",a\nThen it grew.,b\n',
    "tsv": b"sentence\tsource\nIt was founded.\ta\nThen it grew.\tb\n",
    "jsonl": b'{"sentence": "It was founded.", "source": "a"}\n{"sentence": "Then it grew.", "source": null}\n',
    "txt": b"It was founded.\nThen it grew.\n",
    "xlsx": workbook(["sentence", "source"], ["It was founded.", "a"], ["Then it grew.", 1.5]),
    "parquet": _parquet(),
}
Case = tuple[str, bytes, Callable[[Path, str], None]]
CASES: dict[str, Case] = {id: (REGISTRY.get(id).suffixes[-1], sample(id), read) for id in REGISTRY.ids()}
CASES["wikitext"] = ("xml", WIKITEXT.encode(), read_wikitext)
CASES["tar"] = (
    "tar",
    archive({"20news-train/sci.med/5": MESSAGE, "readme": "x", "sci.med/6": MESSAGE}),
    lambda path, _: read(path, "newsgroups"),
)
CASES |= {f"list-{suffix}": (suffix, data, read_list) for suffix, data in LISTS.items()}
CASES |= {f"table-{kind}": (kind, LISTS[kind], read_table) for kind in ("jsonl", "xlsx", "parquet")}


def attack(name: str, path: Path, seeds: range) -> None:
    """Read mutations; whatever is raised but is no error of Themescope comes through, with a note how to repeat it."""
    suffix, data, use = CASES[name]
    others = [sample for _, sample, _ in CASES.values()]
    path = path / f"mutated.{suffix}"
    for seed in seeds:
        random = Random(zlib.crc32(f"{name} {seed}".encode()))
        content = mutated(data, random, others, packed=name in REGISTRY)
        path.write_bytes(content)
        start = time.thread_time()
        try:
            use(path, name)
        except ThemescopeError as error:
            check_message(error, path)
        except Exception as error:
            error.add_note(f"{name}, seed {seed}: {content[:300]!r}")
            raise
        assert time.thread_time() - start < MOST_SECONDS, (name, seed)


@pytest.mark.parametrize("seeds", [range(FEW), pytest.param(range(FEW, FEW + MANY), marks=pytest.mark.slow)], ids=len)
@pytest.mark.parametrize("name", CASES)
def test_a_mutated_file_is_read_or_refused(name: str, seeds: range, tmp_path: Path) -> None:
    before = psutil.Process().memory_info().rss
    attack(name, tmp_path, seeds)
    assert psutil.Process().memory_info().rss - before < MOST_GROWTH
