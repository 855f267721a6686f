"""Files of an import with their readers and the reading progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from core.errors import ReadError
from core.protocols import Reader, Report, SubReport
from core.types import Article
from db.records import CorpusRecord
from jobs.common.digests import file_digest
from jobs.kinds import REGISTRY as KINDS


class Sources:
    """Files with their readers, read one after the other."""

    def __init__(self, paths: list[Path], reader: str, settings: Mapping[str, Any]) -> None:
        from core.readers import REGISTRY as READERS
        from core.readers.formats import detect

        self._paths, self._settings = paths, settings
        for path in self._paths:
            if not path.is_file():
                if path.exists():
                    raise ReadError(path, "this is not a file.", advice="Give the files in a folder one by one.")
                raise ReadError(path, "this file does not exist.", advice="Check its path, as the worker sees it.")
        self.ids = [reader or detect(path) for path in self._paths]
        self._readers: list[Reader] = [READERS.build(id, settings) for id in self.ids]
        self._sizes = [max(path.stat().st_size, 1) for path in self._paths]

    @property
    def size(self) -> int:
        """Return the total size of the files in bytes."""
        return sum(self._sizes)

    def stamp(self) -> str:
        """Return a text that changes with a file or the code that reads it; else an interrupted import goes on."""
        files = [f"{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in self._paths]
        return " ".join([*files, *(f"{id}:{revision}" for id, revision in _later(revisions(self.ids)))])

    def articles(self, report: Report) -> Iterator[Article]:
        """Yield every article of every file, in order."""
        before = 0
        for path, reader, size in zip(self._paths, self._readers, self._sizes, strict=True):
            part = SubReport(report, before / self.size, (before + size) / self.size)
            yield from reader.read(path, part)
            before += size

    def report(self) -> dict[str, Any]:
        """Return the import report that is stored with the corpus."""
        skipped: dict[str, int] = {}
        for reader in self._readers:
            for reason, count in reader.skipped.items():
                skipped[reason] = skipped.get(reason, 0) + count
        return {
            "files": [path.name for path in self._paths],
            "file_digests": [file_digest(path) for path in self._paths],
            "readers": sorted(set(self.ids)),
            "revisions": revisions(self.ids),
            "settings": dict(self._settings),
            "skipped": skipped,
        }


def revisions(readers: Iterable[str]) -> dict[str, int]:
    """Return id → revision of what decides how files become sentences: the import itself and the readers."""
    from core.readers import REGISTRY as READERS

    cards = [KINDS.get("import-corpus"), *(READERS.get(id) for id in sorted(set(readers)) if id in READERS)]
    return {card.id: card.revision for card in cards}


def up_to_date(corpus: CorpusRecord) -> bool:
    """Return whether the files of a corpus would be imported in the same way today."""
    now = revisions(corpus.report.get("readers", ()))
    return _later(now) == _later(corpus.report.get("revisions", {}))


def text_key(corpus: CorpusRecord) -> list[Any]:
    """Return JSON values that identify the sentences of a corpus, also of one that was imported again."""
    return [corpus.report.get("digest", corpus.id), *_later(corpus.report.get("revisions", {}))]


def _later(found: Mapping[str, int]) -> list[list[Any]]:
    """The revisions after the first. Version 0.1 recorded none, and everything was of the first."""
    return [[id, revision] for id, revision in sorted(found.items()) if revision > 1]


class Counter(SubReport):
    """Report that shows the number of stored articles instead of the reader's message."""

    def __init__(self, report: Report, articles: int) -> None:
        super().__init__(report, 0.0, 1.0)
        self.articles = articles

    def add(self, batch: list[Article]) -> None:
        """Add the articles of a stored batch."""
        self.articles += len(batch)

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Forward the progress with the count as its message."""
        super().progress(done, total, f"{self.articles:,} articles stored")
