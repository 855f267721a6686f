"""Tables of error notebooks: cases, notes, categories, and who gave a case which category.

Rows of ``error_note`` and ``error_coding`` are only added: the newest row of a note, and the newest one of a case, a
category and a person count. Cases and categories are deleted softly, so that a deletion can be undone.
"""

from __future__ import annotations

import sqlalchemy as sa

from themescope.db.tables import metadata
from themescope.db.types import Big, Json, Text, UtcDateTime


def _table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    id = sa.Column("id", Big, primary_key=True, autoincrement=True)
    return sa.Table(name, metadata, id, *columns, sqlite_autoincrement=True)


def _to(table: str, name: str, *, nullable: bool = False, ondelete: str = "CASCADE") -> sa.Column[int]:
    return sa.Column(name, Big, sa.ForeignKey(f"{table}.id", ondelete=ondelete), nullable=nullable, index=True)


def _required(name: str, kind: sa.types.TypeEngine | type[sa.types.TypeEngine]) -> sa.Column:
    return sa.Column(name, kind, nullable=False)


# Cases that were drawn at random from a population, such as all failures of a model.
error_sample = _table(
    "error_sample",
    _to("corpus", "corpus_id"),
    _required("name", Text),
    _required("model", Text),
    _required("population", Big),
    _required("seed", Big),
    _required("person", Text),
    _required("created", UtcDateTime),
)

error_case = _table(
    "error_case",
    _to("corpus", "corpus_id"),
    _required("kind", Text),
    # Hash of kind, sentences and source: the same case is not stored twice.
    _required("digest", Text),
    _required("sentence_ids", Json),
    _required("facts", Json),
    # Path and query of the view that the case was found in, without the project.
    _required("permalink", Text),
    _to("error_sample", "sample_id", nullable=True, ondelete="SET NULL"),
    _required("person", Text),
    _required("created", UtcDateTime),
    sa.Column("deleted", UtcDateTime),
    sa.UniqueConstraint("corpus_id", "digest", name="uq_error_case_corpus_id"),
)

# "note" is the id of the first row of a note; an empty text deletes it.
error_note = _table(
    "error_note",
    _to("error_case", "case_id"),
    _to("error_note", "note", nullable=True),
    _required("text", Text),
    _required("person", Text),
    _required("created", UtcDateTime),
)

error_category = _table(
    "error_category",
    _to("corpus", "corpus_id"),
    _required("name", Text),
    _required("description", Text),
    _required("colour", sa.Integer),
    # The category that this one was merged into; its cases count there.
    _to("error_category", "merged_into", nullable=True, ondelete="SET NULL"),
    # Raised by every change; it is used to detect conflicts.
    _required("version", sa.Integer),
    _required("person", Text),
    _required("created", UtcDateTime),
    sa.Column("deleted", UtcDateTime),
)

# Without a category, the person judged that none applies.
error_coding = _table(
    "error_coding",
    _to("error_case", "case_id"),
    _to("error_category", "category_id", nullable=True),
    _required("person", Text),
    _required("given", sa.Boolean),
    # The row that this one undoes.
    _to("error_coding", "undoes", nullable=True),
    _required("created", UtcDateTime),
)
