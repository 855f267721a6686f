"""Tables of the store. Migrations create them; a test compares the two.

A table of records has a column for each field of its record, with the type of the field; only what the record does not
tell is named here. References have a foreign key with ON DELETE and an index, with one exception: references to single
sentences or sections (in triplets, and in the id blocks of benchmarks and maps). Sentences and sections are deleted
only with their corpus, which also deletes those rows; a constraint would cost an index on millions of rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

import sqlalchemy as sa

from themescope.core.records import stored
from themescope.core.records.stored import LabellingRecord, PredictionRecord
from themescope.core.types import SectionRecord, Sentence
from themescope.db import records
from themescope.db.types import Big, Json, Number, Text, UtcDateTime

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


_TYPES = {int: Big, str: Text, bool: sa.Boolean, float: sa.Double, datetime: UtcDateTime}


def row_id() -> sa.Column[int]:
    """Return the column with the id of a row; ids are never reused, even after the newest row is deleted."""
    return sa.Column("id", Big, primary_key=True, autoincrement=True)


def reference(
    table: str, name: str = "", *, nullable: bool = False, ondelete: str = "CASCADE", index: bool = True
) -> sa.Column[int]:
    """Return a column with the id of a row of another table, by default called ``table_id``, with an index."""
    key = sa.ForeignKey(f"{table}.id", ondelete=ondelete)
    return sa.Column(name or f"{table}_id", Big, key, nullable=nullable, index=index or None)


def part_of(table: str, name: str = "", *, index: bool = False) -> sa.Column[int]:
    """Return a column of the primary key with the id of a row of another table, with which its rows are deleted."""
    key = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(name or f"{table}_id", Big, key, primary_key=True, index=index or None)


def id_table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    """Return a table with ids."""
    return sa.Table(name, metadata, row_id(), *parts, sqlite_autoincrement=True)


def required(name: str, kind: sa.types.TypeEngine | type[sa.types.TypeEngine]) -> sa.Column:
    """Return a column without NULL."""
    return sa.Column(name, kind, nullable=False)


def several(kind: sa.types.TypeEngine | type[sa.types.TypeEngine], *names: str) -> list[sa.Column]:
    """Return columns of one type without NULL."""
    return [required(name, kind) for name in names]


def unique(name: str) -> sa.Column[str]:
    """Return a column of texts of which no two are equal."""
    return sa.Column(name, Text, nullable=False, unique=True)


def record_table(name: str, record: type, *parts: sa.schema.SchemaItem, small: Collection[str] = ()) -> sa.Table:
    """Return the table of a record with a column for each field.

    Columns among ``parts`` replace those of their names, or are added, as are constraints. ``small`` are the fields
    with integers of 32 bits.
    """
    hints = get_type_hints(record)
    given = {part.name: part for part in parts if isinstance(part, sa.Column)}
    rest = [part for part in parts if not isinstance(part, sa.Column)]
    own = {}
    for field in fields(record):
        if field.init and get_origin(hints[field.name]) is not Sequence:  # else it is not stored, or rows of its own
            column = row_id() if field.name == "id" else _column(field.name, hints[field.name], field.name in small)
            own[field.name] = given.pop(field.name, column)
    columns = [*own.values(), *given.values()]
    if any(column.name == "id" for column in columns):
        return sa.Table(name, metadata, *columns, *rest, sqlite_autoincrement=True)
    return sa.Table(name, metadata, *columns, *rest)


def _column(name: str, hint: Any, small: bool) -> sa.Column[Any]:
    """Return the column of a field; values that are neither numbers, texts nor times are JSON."""
    nullable = type(None) in get_args(hint)
    kind = next(part for part in get_args(hint) if part is not type(None)) if nullable else hint
    if isinstance(kind, type) and issubclass(kind, Enum):
        kind = str
    return sa.Column(name, sa.Integer if small else _TYPES.get(kind, Json), nullable=nullable)


def _revision() -> sa.Column[int]:
    """Return the column with the revision of the code that made a row; rows without a recorded one have 1."""
    return sa.Column("revision", sa.Integer, nullable=False, server_default=sa.text("1"))


_EMPTY = sa.text("''")

# --- text -----------------------------------------------------------------------------------------------------------

corpus = record_table("corpus", stored.CorpusRecord, unique("name"))

article = record_table(
    "article",
    stored.ArticleRecord,
    reference("corpus", index=False),
    sa.Column("topic", Text, nullable=False, server_default=_EMPTY),
    sa.Column("part", Text, nullable=False, server_default=_EMPTY),
    # The edit that removed the article; queries of a corpus leave such articles out.
    sa.Column("removed", Big),
    sa.UniqueConstraint("corpus_id", "position"),
    small=("position", "bucket", "sections", "sentences"),
)

section = record_table(
    "section",
    SectionRecord,
    reference("article", index=False),
    sa.UniqueConstraint("article_id", "position"),
    small=("position", "level"),
)

sentence = record_table(
    "sentence",
    Sentence,
    reference("article", index=False),
    sa.Column("start", sa.Integer, nullable=False, server_default=sa.text("-1")),
    sa.UniqueConstraint("article_id", "position"),
    small=("position", "section", "paragraph"),
)

# A further field of the articles or sentences of a corpus. "about" has the categories, or the least and greatest value.
corpus_column = record_table(
    "corpus_column",
    stored.ColumnRecord,
    reference("corpus", index=False),
    sa.UniqueConstraint("corpus_id", "level", "name", name="uq_corpus_column_corpus_id"),
    small=("position",),
)

# Values of articles or sentences with consecutive ids from "first" on, or with the ascending ones in "ids".
column_block = sa.Table(
    "column_block",
    metadata,
    part_of("corpus_column", "column_id"),
    sa.Column("first", Big, primary_key=True, autoincrement=False),
    required("rows", sa.Integer),
    *several(sa.LargeBinary, "ids", "data"),
)

# A part of a file that its import left out, or stored otherwise than it stands there.
import_entry = sa.Table(
    "import_entry",
    metadata,
    part_of("corpus"),
    sa.Column("number", Big, primary_key=True, autoincrement=False),
    required("change", sa.Boolean),
    *several(Text, "reason", "place", "text"),
)

# What was removed from a corpus or corrected in it. "steps" has labelling → the step by which its sentences left.
corpus_edit = record_table(
    "corpus_edit",
    stored.CorpusEditRecord,
    reference("corpus"),
    required("steps", Json),
    small=("articles", "sentences", "labels"),
)

# --- background work ------------------------------------------------------------------------------------------------

job = record_table(
    "job",
    stored.JobRecord,
    sa.Column("status", Text, nullable=False, index=True),
    reference("job", "after", nullable=True, ondelete="SET NULL"),
    required("queued", UtcDateTime),
    small=("attempt",),
)

job_metric = sa.Table(
    "job_metric",
    metadata,
    part_of("job"),
    sa.Column("name", Text, primary_key=True),
    sa.Column("step", sa.Double, primary_key=True),
    sa.Column("value", Number),
)

worker = record_table("worker", records.WorkerRecord, sa.Column("owner", Text, primary_key=True))

# --- triplets, models, vectors --------------------------------------------------------------------------------------

triplet_set = record_table("triplet_set", records.TripletSetRecord, reference("corpus"), unique("name"), _revision())

triplet = id_table(
    "triplet",
    sa.Column("set_id", Big, sa.ForeignKey("triplet_set.id", ondelete="CASCADE"), nullable=False),
    required("split", sa.Integer),
    *several(Big, "article_id", "pivot_id", "positive_id", "negative_id"),
    sa.Index(None, "set_id", "split", "id"),
)

# Rows are only added. The latest verdict of a person on a triplet counts; "" withdraws the earlier ones.
triplet_review = record_table(
    "triplet_review",
    records.TripletReview,
    reference("triplet_set", "set_id", index=False),
    required("verdict", Text),
    sa.Index(None, "set_id", "triplet_id", "person"),
)

model = record_table(
    "model",
    stored.ModelRecord,
    unique("name"),
    unique("digest"),
    # A model is kept when its training data are deleted.
    reference("corpus", nullable=True, ondelete="SET NULL"),
    reference("triplet_set", nullable=True, ondelete="SET NULL"),
    _revision(),
    sa.Column("multilingual", sa.Boolean, nullable=False, server_default=sa.false()),
)

embedding = sa.Table(
    "embedding",
    metadata,
    part_of("model"),
    part_of("article", index=True),
    *several(Text, "format", "dtype"),
    *several(sa.Integer, "rows", "dim"),
    required("data", sa.LargeBinary),
)

vector_file = id_table(
    "vector_file", reference("model"), required("digest", Text), required("size", Big), required("created", UtcDateTime)
)

# A block whose vectors are "rows" rows of a file, from row "first" on.
filed_embedding = sa.Table(
    "filed_embedding",
    metadata,
    part_of("model"),
    part_of("article", index=True),
    reference("vector_file", "file_id"),
    *several(sa.Integer, "first", "rows"),
)

# --- benchmarks, runs and maps --------------------------------------------------------------------------------------

benchmark = record_table("benchmark", records.BenchmarkRecord, reference("corpus"), unique("name"), _revision())

benchmark_item = sa.Table(
    "benchmark_item",
    metadata,
    part_of("benchmark"),
    sa.Column("position", sa.Integer, primary_key=True),
    reference("article"),
    *several(sa.LargeBinary, "sentence_ids", "truth"),
)

run = record_table(
    "run",
    stored.RunRecord,
    unique("digest"),
    *(reference(name, nullable=True) for name in ("model", "benchmark", "triplet_set", "corpus")),
)

assignment = sa.Table(
    "assignment", metadata, part_of("run"), part_of("article", index=True), required("labels", sa.LargeBinary)
)

score = record_table(
    "score", stored.ScoreRecord, row_id(), reference("run"), reference("article", nullable=True), small=("n",)
)

margin = sa.Table(
    "margin",
    metadata,
    part_of("run"),
    sa.Column("split", sa.Integer, primary_key=True),
    *several(sa.LargeBinary, "triplet_ids", "margins"),
)

map_ = record_table(
    "map",
    stored.MapRecord,
    reference("corpus"),
    reference("model"),
    unique("digest"),
    sa.Column("faithfulness", Number),
    *several(sa.LargeBinary, "sentence_ids", "points"),
)

# --- tables of papers, saved views of pages, selections ---------------------------------------------------------------

# No reference to runs or models: results are kept when those are deleted.
paper_table = record_table(
    "paper_table",
    records.PaperTableRecord,
    sa.UniqueConstraint("paper", "name", "profile", name="uq_paper_table_paper_name_profile"),
)

saved_view = record_table(
    "saved_view", records.SavedViewRecord, sa.UniqueConstraint("page", "name", name="uq_saved_view_page_name")
)

# The ids of the sentences are a block, as in maps.
selection = record_table(
    "selection", stored.SelectionRecord, reference("corpus"), required("sentence_ids", sa.LargeBinary)
)


# Tables of people, accounts and labellings

NOT_IN_BACKUPS = "not in backups"
"""Key in ``info`` of a table that backups leave empty: people sign in again after a restore."""


person = record_table("person", records.PersonRecord, sa.Column("name", Text, primary_key=True))

login = sa.Table(
    "login",
    metadata,
    sa.Column("person", Text, primary_key=True),
    # Empty for people who sign in through the organisation (OIDC).
    required("password", Text),
    required("changed", UtcDateTime),
)

# Only the hash of a session token is stored, so reading the store does not allow signing in.
session = record_table(
    "session",
    records.SessionRecord,
    sa.Column("token_hash", Text, primary_key=True),
    sa.Column("person", Text, nullable=False, index=True),
)
session.info[NOT_IN_BACKUPS] = True

# Only the hash of a token is stored. It has 256 random bits, so that a fast hash suffices.
api_token = record_table(
    "api_token", records.ApiTokenRecord, sa.Column("person", Text, nullable=False, index=True), unique("token_hash")
)

# Hashes of names and addresses, because people enter a password as their name by mistake.
failed_sign_in = sa.Table(
    "failed_sign_in",
    metadata,
    sa.Column("key_hash", Text, primary_key=True),
    required("count", sa.Integer),
    required("last", UtcDateTime),
    info={NOT_IN_BACKUPS: True},
)

audit_event = record_table("audit_event", records.AuditRecord, row_id())

# Names of people are not foreign keys, because labels and reviews outlive accounts.
labelling = record_table(
    "labelling", LabellingRecord, reference("corpus"), unique("name"), reference("article", nullable=True)
)

label_cluster = sa.Table(
    "label_cluster",
    metadata,
    part_of("labelling"),
    sa.Column("number", Big, primary_key=True, autoincrement=False),
    required("name", Text),
    required("colour", sa.Integer),
    required("deleted", sa.Boolean),
    required("version", Big),
    # Number of the theme of a sub-theme.
    sa.Column("parent", Big),
    # The name as it is compared; NULL for a deleted cluster.
    sa.Column("name_key", Text),
    sa.Index("uq_label_cluster_name_key", "labelling_id", "name_key", unique=True),
)

# No foreign key to the sentence: sentences are deleted with their corpus, which deletes its labellings.
label = sa.Table(
    "label",
    metadata,
    part_of("labelling"),
    sa.Column("sentence_id", Big, primary_key=True, autoincrement=False),
    required("number", Big),
    required("uncertain", sa.Integer),
    required("note", Text),
    required("version", Big),
)

label_entry = sa.Table(
    "label_entry",
    metadata,
    part_of("labelling"),
    sa.Column("kind", Text, primary_key=True),
    sa.Column("key", Text, primary_key=True),
    required("value", Json),
)

label_step = id_table(
    "label_step",
    reference("labelling", "labelling_id"),
    *several(Text, "kind", "operation", "summary", "person"),
    required("created", UtcDateTime),
    sa.Column("target", Big),
    *several(Text, "reason", "selection_method"),
    required("size", Big),
    # Model or method that placed the sentences; empty where the person did.
    sa.Column("coder", Text, nullable=False, server_default=sa.text("''")),
)

label_event = sa.Table(
    "label_event",
    metadata,
    part_of("label_step", "step_id"),
    sa.Column("position", sa.Integer, primary_key=True),
    required("field", Text),
    sa.Column("sentence_id", Big),
    *several(Json, "old", "new"),
    # Probability of the new cluster, where a model chose it and has one.
    sa.Column("probability", sa.Double),
)

# Who or what had put sentences into their clusters when the labelling began, where its origin does not tell: labels of
# files with coders, of other labellings, and of a consensus. Later labels follow from the history.
label_start = sa.Table(
    "label_start",
    metadata,
    part_of("labelling"),
    sa.Column("sentence_id", Big, primary_key=True, autoincrement=False),
    *several(Text, "source", "coder"),
    sa.Column("probability", sa.Double),
)

prediction = record_table(
    "prediction",
    PredictionRecord,
    reference("labelling"),
    sa.Column("wave", Text, nullable=False, server_default=sa.text("''")),
    *several(sa.LargeBinary, "sentence_ids", "probabilities"),
)


label_presence = sa.Table(
    "label_presence",
    metadata,
    part_of("labelling"),
    sa.Column("person", Text, primary_key=True),
    sa.Column("session", Text, primary_key=True),
    required("seen", UtcDateTime),
)

task = record_table(
    "task",
    records.TaskRecord,
    reference("corpus"),
    unique("name"),
    reference("labelling", "gold_id", nullable=True, ondelete="SET NULL"),
)

task_member = record_table(
    "task_member",
    records.MemberRecord,
    part_of("task"),
    sa.Column("person", Text, primary_key=True),
    reference("labelling", nullable=True, ondelete="SET NULL"),
    small=("quota",),
)

# A range of sentences of an article, by position, for one person. Several people have a row each.
task_item = record_table(
    "task_item", records.ItemRecord, reference("task"), reference("article"), small=("first", "last", "place")
)
