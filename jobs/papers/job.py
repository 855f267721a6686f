"""Job kind: reproduce the tables of a paper, reusing stored results.

Every step is a job kind whose results have digests, so a second run computes nothing and an interrupted one resumes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from themescope.core.config import option
from themescope.core.errors import ConfigError
from themescope.core.papers import PAPERS, paper
from themescope.core.papers.spec import Paper, RunProfile
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.papers.document import records_beside, write_document
from themescope.jobs.papers.sources import Wanted, find_sources
from themescope.jobs.papers.tables import reproduce_table
from themescope.jobs.papers.work import Steps, Work

_DOCUMENTS_PER_ARTICLE = 10  # a document of a topic task has about a tenth of the sentences of an article


@dataclass(frozen=True)
class ReproduceConfig(JobConfig):
    """Arguments of a reproduction."""

    removed: ClassVar[frozenset[str]] = frozenset({"encoder", "models", "training", "queue_trainings"})

    paper: str = option("", f"Id of the paper: {', '.join(PAPERS)}.", required=True)
    profile: str = option("quick", "Computational effort: quick (minutes), or full (hours for each network).")
    tables: tuple[str, ...] = option((), "Tables to reproduce; empty: all.")
    corpus: str = option("", "Name of a corpus in the store; empty: the articles of the data folder.")
    data: str = option("", "Folder with data sets: wikipedia/articles, wikipedia-more, vectors, sick.", file=True)
    words: str = option(
        "", "Table of word vectors for running text, an id or a file; empty: that of the data folder.", file=True
    )
    triplets: str = option("", "Folder with a copy of the published triplet files, or the test file.", file=True)
    scb: str = option("", "A copy of the published clustering benchmark (CSV).", file=True)
    sick: str = option("", "A copy of SICK; empty: that of the data folder.", file=True)
    articles: int = option(
        0, "Maximum number of evaluated articles of each data set; 0: that of the profile.", low=0, unit="articles"
    )
    seeds: int = option(0, "Number of seeds of random steps: the first ones of the profile; 0: all.", low=0, high=100)
    document: str = option(
        "", "Markdown file to write the results to when all are computed, with their records beside it as a .json "
        "file; empty: none.",
        file=True,
    )  # fmt: skip
    replace: bool = option(False, "Replace the document if it exists.")

    def validate(self) -> None:
        """Check profile and tables."""
        declared = paper(self.paper)
        declared.profile(self.profile)
        for table in self.tables:
            declared.table(table)
        if Path(self.document).suffix == records_beside(Path("x")).suffix:
            raise ConfigError(f"{self.document} is the name of the records. Name the document with the ending .md.")

    def profile_of(self, declared: Paper) -> RunProfile:
        """Return the profile with the limits that are given."""
        profile = declared.profile(self.profile)
        profile = replace(profile, seeds=profile.seeds[: self.seeds or None])
        if not self.articles:
            return profile
        return replace(profile, articles=self.articles, documents=self.articles * _DOCUMENTS_PER_ARTICLE)

    def check_document(self) -> None:
        """Raise ``ConfigError`` if the document, or the file of its records, exists and may not be replaced."""
        if not self.document or self.replace:
            return
        for file in (Path(self.document), records_beside(Path(self.document))):
            if file.exists():
                raise ConfigError(f"{file} exists. Name another file (--document), or replace it (--replace).")

    def title(self) -> str:
        """Return a title with paper, profile and tables."""
        which = f"table{'s' if len(self.tables) > 1 else ''} {', '.join(self.tables)}" if self.tables else "all tables"
        return f"Reproduce {self.paper}, {which} ({self.profile})"


def run(args: ReproduceConfig, context: JobContext) -> dict[str, Any]:
    """Reproduce the tables; each is stored row by row and replaces the older one when complete.

    The document is written at the end, so that there is none of an unfinished run.
    """
    args.check_document()
    declared = paper(args.paper)
    profile = args.profile_of(declared)
    steps = Steps(context)
    steps.window(0.0, 0.02)
    wanted = Wanted(args.corpus, args.data, args.words, args.triplets, args.scb, args.sick)
    sources = find_sources(context.store, wanted, steps.run, needs_articles=declared.needs_articles)
    work = Work(declared, profile, sources, steps)
    tables = [table for table in declared.tables if not args.tables or table.id in args.tables]
    missing = 0
    total, before = sum(len(table.rows) for table in tables), 0
    for table in tables:

        def window(done: int, of: int, before: int = before, rows: int = len(table.rows)) -> None:
            """Give the next steps part ``done`` of ``of`` parts of the table, in proportion to its rows."""
            ends = ((before + rows * part / of) / total for part in (done, done + 1))
            steps.window(*(0.02 + 0.97 * end for end in ends))

        keep = partial(_keep, args, context, declared, table.id)
        content = reproduce_table(table, work, window, keep)
        before += len(table.rows)
        missing += sum(bool(row["missing"]) for row in content["rows"])
        keep(content)
    if args.document:
        with context.store.reading() as r:
            records = r.papers.list(declared.id, args.profile)
        write_document(Path(args.document), declared, args.profile, records)
    return {
        "paper": declared.id,
        "profile": profile.id,
        "tables": [table.id for table in tables],
        "computed": steps.computed,
        "reused": steps.reused,
        "cached": steps.computed == 0,
        "rows": sum(len(table.rows) for table in tables),
        "rows_not_measured": missing,
        "document": args.document,
    }


def _keep(args: ReproduceConfig, context: JobContext, declared: Paper, name: str, content: dict[str, Any]) -> None:
    """Store a table; an incomplete one does not replace a complete one."""
    with context.store.reading() as r:
        before = r.papers.find(declared.id, name, args.profile)
    if before is not None and before.content["complete"] and not content["complete"]:
        return
    if before is not None and "made" in before.content and {**before.content, "made": {}} == {**content, "made": {}}:
        return  # Where and by which code they were made is known already.
    arguments = {key: value for key, value in args.to_dict().items() if key not in ("tables", "document", "replace")}
    with context.writing() as w:
        w.papers.put(declared.id, name, args.profile, arguments, content)
