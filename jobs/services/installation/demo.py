"""Demo and sample projects: text of installed packages, and a chain of jobs on it.

Nothing is downloaded or precomputed: the demo shows the results of the same jobs that users run on their own corpora.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from themescope import core
from themescope.core.errors import DataError, MissingExtraError
from themescope.core.paths import default_models
from themescope.core.records.stored import JobRecord
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services.pipeline import Choices, queue_pipeline

CORPUS = "Wikipedia sample"
TRIPLETS = "Wikipedia sample, sentences"
BENCHMARK = "Wikipedia sample, sections"
SMALL_NET = "triplets-sen, trained here"
ARTICLE = "Autism"
"""Test article with eight sections; no model of the demo is trained on it."""

_DUMP = "enwiki-latest-pages-articles1.xml-*.bz2"
_CLUSTERERS = ("iclust", "kmeans")
_SMALL_SETTINGS = {"hidden": 100, "attention": 100, "epochs": 4, "batch_size": 64}


def seed_demo(store: Store) -> list[JobRecord]:
    """Queue the demo if the store is empty, and return its jobs."""
    if not _is_empty(store):
        return []
    chain = _Chain(store)
    text = chain.add("import-corpus", {"files": [str(demo_dump())], "corpus": CORPUS})
    sampled = {"corpus": CORPUS, "name": TRIPLETS, "rules": {"profile": "max-signal"}}
    triplets = chain.add("build-triplets", sampled, text)
    benchmark = {"corpus": CORPUS, "name": BENCHMARK, "rules": {"sections": "top"}, "splits": ["validation", "test"]}
    ready = chain.add("build-benchmark", benchmark, triplets)
    chain.add("cluster", {"clusterer": "random", "benchmark": BENCHMARK}, ready)
    models = _models(chain, ready)
    for name, made in models.items():
        chain.compare(name, made)
    best, made = next(iter(models.items()))
    chain.add("project", {"corpus": CORPUS, "model": best, "titles": [ARTICLE]}, made)
    chain.jobs += queue_pipeline(store, CORPUS, "en", Choices(best), after=made)
    small = {"method": "triplets-sen", "name": SMALL_NET, "triplets": TRIPLETS}
    trained = chain.add("train", small | {"settings": _SMALL_SETTINGS}, triplets)
    chain.compare(SMALL_NET, trained)
    return chain.jobs


def demo_dump() -> Path:
    """Return the fragment of an English Wikipedia dump in gensim's wheel; raise ``MissingExtraError`` without it."""
    package = importlib.util.find_spec("gensim")
    for folder in (package.submodule_search_locations or []) if package else []:
        for path in sorted(Path(folder, "test", "test_data").glob(_DUMP)):
            return path
    raise MissingExtraError("The demo", "gensim", "demo")


class _Chain:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.jobs: list[JobRecord] = []

    def add(self, kind: str, args: Mapping[str, Any], after: int | None = None) -> int:
        """Queue a job and return its id, on which the next ones can depend."""
        self.jobs.append(enqueue(self._store, kind, args, after=after, files_known=True))
        return self.jobs[-1].id

    def compare(self, model: str, after: int) -> None:
        """Queue the jobs whose results the page Compare shows for a model."""
        self.add("evaluate-triplets", {"model": model, "triplets": TRIPLETS}, after)
        for clusterer in _CLUSTERERS:
            self.add("cluster", {"model": model, "clusterer": clusterer, "benchmark": BENCHMARK}, after)


def _models(chain: _Chain, after: int) -> dict[str, int]:
    """Return models that need no training, the best first: name → job that must be done before its use."""
    made = dict.fromkeys(default_models(), after)
    made["mean-vectors"] = chain.add("train", {"method": "mean-vectors", "name": "mean-vectors"}, after)
    made["tfidf"] = chain.add("train", {"method": "tfidf", "name": "tfidf", "corpus": CORPUS}, after)
    return made


def _is_empty(store: Store) -> bool:
    with store.reading() as r:
        contents: Iterable[list[Any]] = (r.corpora.list(include_unready=True), r.models.list(), r.jobs.list(limit=1))
        return not any(contents)


_FOLDER = "samples"
_ROOT = Path(core.__file__).parents[1]
_RESULTS = re.compile(r"(results-|reference)")
"""Documents that consist of tables."""
_UNDERLINES = "*=-~"


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample project and what it is good for."""

    name: str
    """Name of its corpus."""
    about: str
    licence: str
    files: Callable[[Path], list[Path]]
    """Function of the data folder that returns the files to import, which it may write there."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the reader of Markdown; empty for another format, which is detected."""


def build_sample(store: Store, sample: Sample) -> list[JobRecord]:
    """Queue the import of a sample project and the jobs that follow.

    Raises ``MissingExtraError`` if the package with its text is not installed, and ``DataError`` if its files are not
    part of this installation.
    """
    files = [str(path) for path in sample.files(store.settings.home)]
    if not files:
        raise DataError(f"The text of “{sample.name}” is not part of this installation.")
    args: dict[str, Any] = {"files": files, "corpus": sample.name, "settings": dict(sample.settings)}
    args["reader"] = "markdown" if sample.settings else ""
    job = enqueue(store, "import-corpus", args, files_known=True)
    return [job, *queue_pipeline(store, sample.name, "en", after=job.id)]


def _wikipedia(home: Path) -> list[Path]:
    return [demo_dump()]


def _documentation(home: Path) -> list[Path]:
    """Return the documents of this project: those of a checkout, or the sources in the site that wheels contain."""
    folders = (_ROOT / "docs", "*.md"), (_ROOT / "webapp" / "site" / "_sources", "*.md.txt")
    found: Iterable[Path] = next((paths for f, pattern in folders if (paths := sorted(f.glob(pattern)))), [])
    return [path for path in found if not _RESULTS.match(path.name)]


def _python_reference(home: Path) -> list[Path]:
    """Write the topics of Python's own help, which are chapters of its language reference, as a Markdown document."""
    from pydoc_data import topics

    text = "\n\n".join("\n\n".join(_blocks(topic)) for _, topic in sorted(topics.topics.items()))
    path = home / _FOLDER / "python-language-reference.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return [path]


def _blocks(topic: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", topic.strip()):
        title, _, rest = block.partition("\n")
        line, _, body = rest.partition("\n")
        mark = line[:1]
        if mark and mark in _UNDERLINES and line.strip(mark) == "" and len(line) >= len(title.rstrip()):
            yield f"{'#' * (_UNDERLINES.index(mark) + 1)} {_escaped(title.strip())}"
            block = body
        if block.strip() and not any(part in block for part in _NOT_PROSE):
            yield "\n".join(_escaped(line.strip()) for line in block.splitlines())


_NOT_PROSE = ("::=", ">>>", "+--", "====", "--->", "\n   | ")
"""What grammar, examples and tables contain."""


def _escaped(text: str) -> str:
    return re.sub(r"([_<>#`\[\]])", r"\\\1", text)


SAMPLES = (
    Sample(
        CORPUS,
        "97 articles about people, places and science with 18,000 sentences. Good for the themes of mixed text, for "
        "benchmarks against sections, and for maps.",
        "CC BY-SA 3.0, contributors of Wikipedia; from the wheel of gensim",
        _wikipedia,
    ),
    Sample(
        "Python language reference",
        "79 chapters of a technical reference that comes with Python. Good for finding passages about one concept in "
        "different chapters.",
        "PSF License 2, Python Software Foundation; from the standard library",
        _python_reference,
        {"keep_lists": True},
    ),
    Sample(
        "Documentation of Themescope",
        "The documents of this application. Small, imported within a second: good for trying every page quickly.",
        "Apache License 2.0; from Themescope itself",
        _documentation,
        {"keep_lists": True},
    ),
)
"""The sample projects of the gallery."""
