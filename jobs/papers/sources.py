"""Data of a reproduction: from the store, a data folder, or copies of published files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

from themescope.core.errors import ConfigError, DataError, ReadError
from themescope.core.papers.spec import PAIR_WORDS, TEXT_WORDS, CorpusData
from themescope.core.records.stored import CorpusRecord
from themescope.core.types import Split
from themescope.db.store import Store
from themescope.jobs.common.articles import file_digest, ready_corpus
from themescope.jobs.kinds.import_corpus import up_to_date

Run = Callable[[str, Mapping[str, Any]], dict[str, Any]]

_ARTICLES = ("wikipedia/articles", "wikipedia-more")
"""Folders of articles; all that the data folder has are one corpus."""
_TEXT_VECTORS = ("vectors", "glove.6B.100d.top100k.fp16.safetensors")
_PAIR_VECTORS = ("vectors", "glove.840B.300d.sick.safetensors")
_INSTALLED_WORDS = "glove-6b-50d"
_PART_NAMES = {Split.TRAIN: ("train",), Split.VALIDATION: ("valid", "dev"), Split.TEST: ("test",)}


@dataclass(frozen=True)
class Wanted:
    """Locations of data that the user gave; "" if not given."""

    corpus: str = ""
    data: str = ""
    words: str = ""
    triplets: str = ""
    scb: str = ""
    sick: str = ""


@dataclass(frozen=True)
class Sources:
    """Available data. Access to missing data raises :class:`DataError` with the option that provides it."""

    articles: CorpusRecord | None
    """The corpus of articles with sections; None if the paper needs none."""
    words: Mapping[str, str]
    """Slot → table of word vectors."""
    data: Path | None = None
    """The data folder."""
    triplet_files: Mapping[Split, Path] = field(default_factory=dict)
    benchmark_corpus: str = ""
    """Name of the corpus that was imported from a published benchmark file."""
    sick: Path | None = None

    @property
    def corpus(self) -> CorpusRecord:
        """Return the corpus of articles."""
        if self.articles is None:
            raise DataError("Choose a corpus of articles with sections (--corpus).")
        return self.articles

    def files_of(self, declared: CorpusData) -> list[Path]:
        """Return the files of a specified corpus in the data folder."""
        found = [path for pattern in declared.files for path in sorted(self.data.glob(pattern))] if self.data else []
        if not found:
            where = f"{self.data.name!r} has none" if self.data else "no data folder was given"
            raise DataError(f"{declared.title} is read from {' and '.join(declared.files)}: {where} (--data).")
        return found

    def words_for(self, slot: str) -> str:
        """Return the word vectors of a slot."""
        if slot not in self.words:
            raise DataError(
                "The paper's word vectors for SICK are missing. Choose a data folder with them (--data), or a table of "
                "word vectors (--words)."
            )
        return self.words[slot]

    def pairs(self) -> Path:
        """Return the path of SICK."""
        if self.sick is None:
            raise DataError("SICK is missing. Choose its folder (--sick), or a data folder with it (--data).")
        return self.sick

    def training_files(self) -> tuple[Path, Path] | None:
        """Return the published training and validation triplets, if both were given."""
        found = [self.triplet_files.get(split) for split in (Split.TRAIN, Split.VALIDATION)]
        return (found[0], found[1]) if found[0] and found[1] else None


def find_sources(store: Store, wanted: Wanted, run: Run, *, needs_articles: bool = True) -> Sources:
    """Find the data; import articles and a benchmark that exist only as files."""
    data = Path(wanted.data) if wanted.data else None
    if data is not None and not data.is_dir():
        raise ReadError(wanted.data, "this folder does not exist.", advice="Choose the folder of the data sets.")
    words = {TEXT_WORDS: wanted.words or _existing(data, *_TEXT_VECTORS) or _INSTALLED_WORDS}
    pair_words = _existing(data, *_PAIR_VECTORS) or wanted.words
    if pair_words:
        words[PAIR_WORDS] = pair_words
    sick = wanted.sick or _existing(data, "sick")
    scb = Path(wanted.scb) if wanted.scb else None
    articles = None
    if needs_articles and wanted.corpus:
        articles = ready_corpus(store, wanted.corpus)
    elif needs_articles:
        files = [path for folder in _ARTICLES for path in sorted((data / folder).glob("*.jsonl*"))] if data else []
        if not files:
            where = f"{data.name!r} has no folder {' or '.join(_ARTICLES)}" if data else "no data folder was given"
            raise ConfigError(f"Choose a corpus of the store (--corpus), or a data folder (--data): {where}.")
        articles = ready_corpus(store, corpus_of(store, run, files, "wikipedia"))
    return Sources(
        articles=articles,
        words=words,
        data=data,
        triplet_files=triplet_files(Path(wanted.triplets)) if wanted.triplets else {},
        benchmark_corpus=corpus_of(store, run, [scb], scb.stem, "scb-csv") if scb else "",
        sick=Path(sick) if sick else None,
    )


def triplet_files(path: Path) -> dict[Split, Path]:
    """Return the published triplets in a folder by split, with "train", "valid" or "dev", and "test" in their names.

    A single file is the test split. Raises :class:`ReadError` if there is no file, or two for one split.
    """
    if path.is_file():
        return {Split.TEST: path}
    files = sorted(f for f in path.glob("*.csv") if f.is_file()) if path.is_dir() else []
    found: dict[Split, Path] = {}
    for split, names in _PART_NAMES.items():
        fitting = [f for f in files if any(name in f.name.lower() for name in names)]
        if len(fitting) > 1:
            raise ReadError(path, f"both {fitting[0].name} and {fitting[1].name} could be the {split.value} split.")
        if fitting:
            found[split] = fitting[0]
    if not found:
        raise ReadError(path, "this folder has no CSV file of triplets called train, validation or test.")
    return found


def corpus_of(
    store: Store,
    run: Run,
    files: Sequence[Path],
    name: str,
    reader: str = "",
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Return the name of the corpus imported from exactly these files with these reader ``settings``.

    If there is none, they are imported as ``name``, numbered if taken.
    """
    for path in files:
        if not path.is_file():
            raise ReadError(path, "this file does not exist.")
    digests = sorted(map(file_digest, files))
    with store.reading() as r:
        ready = r.corpora.list()
    for corpus in ready:
        same = sorted(corpus.report.get("file_digests", ())) == digests
        same = same and (not reader or corpus.report.get("readers") == [reader])
        if same and up_to_date(corpus) and (settings is None or corpus.report.get("settings") == settings):
            return corpus.name
    # A name that only an unfinished import uses is reused to finish that import.
    taken = {corpus.name for corpus in ready}
    free = next(n for n in chain([name], (f"{name} {i}" for i in count(2))) if n not in taken)
    args: dict[str, Any] = {"files": [str(path.absolute()) for path in files], "corpus": free, "reader": reader}
    if settings:
        args["settings"] = dict(settings)
    return str(run("import-corpus", args)["corpus"])


def _existing(data: Path | None, *parts: str) -> str:
    """Return the path below the data folder as text, or "" if it does not exist."""
    path = data.joinpath(*parts) if data else None
    return str(path) if path is not None and path.exists() else ""
