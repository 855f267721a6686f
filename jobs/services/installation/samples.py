"""Sample projects from text that is part of installed packages: nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from themescope import core
from themescope.core.errors import DataError
from themescope.db.records import JobRecord
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services.installation.demo import CORPUS, demo_dump
from themescope.jobs.services.pipeline import queue_pipeline

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

    text = "\n\n".join(_as_markdown(topic) for _, topic in sorted(topics.topics.items()))
    path = home / _FOLDER / "python-language-reference.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return [path]


def _as_markdown(topic: str) -> str:
    """Return a topic with Markdown headings, without grammar, tables and examples."""
    return "\n\n".join(_blocks(topic))


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
