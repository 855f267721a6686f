"""Job kind: import a list of sentences as a corpus of one article, with a section per group.

The list is a table that the reader of tables reads; all its other columns are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from themescope.core.config import option
from themescope.core.readers.table import SENTENCES
from themescope.jobs.common.importing.columns import check_types
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.kinds import import_corpus

READER = "table"


@dataclass(frozen=True)
class ImportListConfig(JobConfig):
    """Arguments of importing a list of sentences."""

    file: str = option("", "Path of the file on the worker's machine.", file=True)
    corpus: str = option("", "Name of the new corpus.")
    column: str = option("", "Column of the sentences; empty: one called so, or the one with the longest cells.")
    group: str = option("", "Column of the group of a sentence, such as its source; empty: none.")
    types: Mapping[str, Any] = option({}, "Types of columns, as when a corpus is imported.")
    language: str = option("en", "Language of the text, as a two-letter code.")

    def validate(self) -> None:
        """Check that a file and a name are given, and the types."""
        self.require("file", "corpus")
        check_types(self.types, self.named("types"))

    def title(self) -> str:
        """Return a title with the corpus."""
        return f"Import the list “{self.corpus}”"


def run(args: ImportListConfig, context: JobContext) -> dict[str, Any]:
    """Import the list; return the result of the import, with the number of groups."""
    result = import_corpus.run(
        import_corpus.ImportConfig(
            files=(args.file,),
            corpus=args.corpus,
            language=args.language,
            reader=READER,
            settings=list_settings(args.corpus, args.column, args.group),
            types=args.types,
        ),
        context,
    )
    return result | {"groups": result["sections"] if args.group else 0}


def list_settings(name: str, column: str = "", group: str = "") -> dict[str, str]:
    """Return the settings of the reader of tables for a list called ``name``."""
    return {"text": column, "section": group, "rows": SENTENCES, "name": name}
