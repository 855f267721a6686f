"""Shards of an import: same articles whatever the workers are, read a few ahead, and not parsed again when stored."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from themescope.core.config import Config
from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY as READERS
from themescope.core.readers.jsonl import Jsonl
from themescope.core.types import SILENT, Report
from themescope.jobs.common import import_shards
from themescope.jobs.common.import_shards import Parsed, ShardLog, parsed_shards
from themescope.jobs.executors import LocalConfig, LocalExecutor

SHARD = 2_000


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_shards, "SHARD_CHARACTERS", SHARD)


def lines(articles: int) -> list[str]:
    text = "It is a town. It is old. " * 8
    blank = '{"title": "Empty", "sections": []}'
    sections = [{"title": "", "paragraphs": [text, text]}]
    full = [json.dumps({"title": f"Town {n}", "sections": sections}) for n in range(articles)]
    return [line for article in full for line in (article, blank)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "towns.jsonl"
    path.write_text("\n".join(lines(60)), encoding="utf-8")
    return path


ONE = LocalExecutor(LocalConfig(1))


class Watched(LocalExecutor):
    """Executor in this process that notes the names of the shards it computes."""

    def __init__(self) -> None:
        super().__init__(LocalConfig(1))
        self.names: list[str] = []

    def map(self, fn, shards, **options):
        def noted():
            for shard in shards:
                self.names.append(shard.name)
                yield shard

        return super().map(fn, noted(), **options)


def parsed(file: Path, folder: Path, stored: int = 0, executor: LocalExecutor = ONE) -> Iterator[Parsed]:
    return parsed_shards([(file, READERS.build("jsonl", None))], "en", executor, SILENT, ShardLog(folder), stored)


def test_processes_return_the_same_shards_in_order(file: Path, tmp_path: Path) -> None:
    here = list(parsed(file, tmp_path))
    with LocalExecutor(LocalConfig(2)) as processes:
        assert list(parsed(file, tmp_path, executor=processes)) == here
    assert len(here) > 5
    assert [a.title for shard in here for a in shard.articles] == [f"Town {n}" for n in range(60)]
    assert sum(shard.account.skipped["no text"] for shard in here) == 60
    paragraph = here[0].articles[0].sections[0].paragraphs[0]
    assert paragraph.sentences[:2] == ("It is a town.", "It is old.") and not paragraph.text


def test_a_reader_without_pieces_is_read_here(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<h1>A</h1><p>It is a town. It is old.</p>", encoding="utf-8")
    (shard,) = parsed_shards([(path, READERS.build("html", None))], "en", ONE, SILENT, ShardLog(tmp_path), 0)
    assert shard.articles[0].sections[0].paragraphs[0].sentences == ("It is a town.", "It is old.")


def test_an_error_keeps_its_class_and_place(file: Path, tmp_path: Path) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write("\n{broken")
    with LocalExecutor(LocalConfig(2)) as processes, pytest.raises(ReadError, match="line 121") as error:
        list(parsed(file, tmp_path, executor=processes))
    assert error.value.path == file


class Counting(Jsonl):
    """Reader of an endless file that counts its pieces."""

    taken = 0

    def pieces(self, path: Path, report: Report) -> Iterator[tuple[tuple[int, str], int]]:
        line = lines(1)[0]
        while True:
            self.taken += 1
            yield (self.taken, line), len(line)


def test_files_are_read_a_few_shards_ahead(file: Path, tmp_path: Path) -> None:
    reader = Counting(Config())
    with LocalExecutor(LocalConfig(2)) as processes:
        shards = parsed_shards([(file, reader)], "en", processes, SILENT, ShardLog(tmp_path), 0)
        next(shards)
        shards.close()
    assert reader.taken < 200


@settings(max_examples=25)
@given(begun=st.integers(0, 40), lost=st.integers(0, 70))
def test_a_resumed_import_parses_missing_shards(
    tmp_path_factory: pytest.TempPathFactory, begun: int, lost: int
) -> None:
    folder = tmp_path_factory.mktemp("import")
    path = folder / "towns.jsonl"
    path.write_text("\n".join(lines(60)), encoding="utf-8")
    whole = list(parsed(path, folder))
    list(islice(parsed(path, folder), begun))
    yielded = sum(len(shard.articles) for shard in whole[:begun])
    stored = max(yielded - lost, 0)  # the last batch was not stored before the process was killed
    with (folder / f"shards-{SHARD}.jsonl").open("a") as log:
        log.write('{"digests": "00')  # the line of a shard that was being written
    executor = Watched()
    resumed = list(parsed(path, folder, stored, executor))
    titles = [a.title for shard in resumed for a in shard.articles]
    assert titles == [f"Town {n}" for n in range(stored, 60)]
    assert [shard.digests for shard in resumed] == [shard.digests for shard in whole]
    assert sum(shard.account.skipped["no text"] for shard in resumed) == 60
    counts = np.cumsum([len(shard.articles) for shard in whole[:begun]])
    assert len(executor.names) == len(whole) - (counts <= stored).sum()
