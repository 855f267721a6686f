"""Tables of people, accounts, labellings and error notebooks.

Rows of ``label_step`` and ``label_event``, the history, are only added. ``label``, ``label_cluster`` and
``label_entry`` hold the current state, updated in the transaction that writes the events. The ``version`` of a row is
the step that changed it last (0 at the start); it is used to detect conflicts. Entries are compared by their value
instead. Rows of ``error_note`` and ``error_coding`` are only added: the newest row of a note, and the newest one of a
case, a category and a person count. Cases and categories are deleted softly, so that a deletion can be undone.
"""

from __future__ import annotations

import sqlalchemy as sa

from themescope.db.tables import metadata
from themescope.db.types import Big, Json, Text, UtcDateTime

_CASCADE = "CASCADE"
NOT_IN_BACKUPS = "not in backups"
"""Key in ``info`` of a table that backups leave empty: people sign in again after a restore."""


def _of_labelling() -> sa.Column[int]:
    return sa.Column("labelling_id", Big, sa.ForeignKey("labelling.id", ondelete=_CASCADE), primary_key=True)


person = sa.Table(
    "person",
    metadata,
    sa.Column("name", Text, primary_key=True),
    sa.Column("role", Text, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("seen", UtcDateTime),
)

login = sa.Table(
    "login",
    metadata,
    sa.Column("person", Text, primary_key=True),
    # Empty for people who sign in through the organisation (OIDC).
    sa.Column("password", Text, nullable=False),
    sa.Column("changed", UtcDateTime, nullable=False),
)

# Only the hash of a session token is stored, so reading the store does not allow signing in.
session = sa.Table(
    "session",
    metadata,
    sa.Column("token_hash", Text, primary_key=True),
    sa.Column("person", Text, nullable=False, index=True),
    sa.Column("method", Text, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("seen", UtcDateTime, nullable=False),
    info={NOT_IN_BACKUPS: True},
)

# Only the hash of a token is stored. It has 256 random bits, so that a fast hash suffices.
api_token = sa.Table(
    "api_token",
    metadata,
    sa.Column("id", Big, primary_key=True, autoincrement=True),
    sa.Column("person", Text, nullable=False, index=True),
    sa.Column("name", Text, nullable=False),
    sa.Column("token_hash", Text, nullable=False, unique=True),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("used", UtcDateTime),
    sa.Column("expires", UtcDateTime, nullable=False),
    sa.Column("revoked", UtcDateTime),
    sqlite_autoincrement=True,
)

# Hashes of names and addresses, because people enter a password as their name by mistake.
failed_sign_in = sa.Table(
    "failed_sign_in",
    metadata,
    sa.Column("key_hash", Text, primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("last", UtcDateTime, nullable=False),
    info={NOT_IN_BACKUPS: True},
)

audit_event = sa.Table(
    "audit_event",
    metadata,
    sa.Column("id", Big, primary_key=True, autoincrement=True),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("author", Text, nullable=False),
    sa.Column("action", Text, nullable=False),
    sa.Column("person", Text, nullable=False),
    sa.Column("detail", Text, nullable=False),
    sqlite_autoincrement=True,
)

labelling = sa.Table(
    "labelling",
    metadata,
    sa.Column("id", Big, primary_key=True, autoincrement=True),
    sa.Column("corpus_id", Big, sa.ForeignKey("corpus.id", ondelete=_CASCADE), nullable=False, index=True),
    sa.Column("name", Text, nullable=False, unique=True),
    sa.Column("kind", Text, nullable=False),
    # Names of people are not foreign keys, because labels and reviews outlive accounts.
    sa.Column("owner", Text, nullable=False),
    sa.Column("blind", sa.Boolean, nullable=False),
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete=_CASCADE), index=True),
    sa.Column("origin", Json, nullable=False),
    sa.Column("sentences", Big, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("deleted", UtcDateTime),
    sqlite_autoincrement=True,
)

label_cluster = sa.Table(
    "label_cluster",
    metadata,
    _of_labelling(),
    sa.Column("number", Big, primary_key=True, autoincrement=False),
    sa.Column("name", Text, nullable=False),
    sa.Column("colour", sa.Integer, nullable=False),
    sa.Column("deleted", sa.Boolean, nullable=False),
    sa.Column("version", Big, nullable=False),
    # Number of the theme of a sub-theme.
    sa.Column("parent", Big),
)

# No foreign key to the sentence: sentences are deleted with their corpus, which deletes its labellings.
label = sa.Table(
    "label",
    metadata,
    _of_labelling(),
    sa.Column("sentence_id", Big, primary_key=True, autoincrement=False),
    sa.Column("number", Big, nullable=False),
    sa.Column("uncertain", sa.Integer, nullable=False),
    sa.Column("note", Text, nullable=False),
    sa.Column("version", Big, nullable=False),
)

label_entry = sa.Table(
    "label_entry",
    metadata,
    _of_labelling(),
    sa.Column("kind", Text, primary_key=True),
    sa.Column("key", Text, primary_key=True),
    sa.Column("value", Json, nullable=False),
)

label_step = sa.Table(
    "label_step",
    metadata,
    sa.Column("id", Big, primary_key=True, autoincrement=True),
    sa.Column("labelling_id", Big, sa.ForeignKey("labelling.id", ondelete=_CASCADE), nullable=False, index=True),
    sa.Column("kind", Text, nullable=False),
    sa.Column("operation", Text, nullable=False),
    sa.Column("summary", Text, nullable=False),
    sa.Column("person", Text, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("target", Big),
    sa.Column("reason", Text, nullable=False),
    sa.Column("selection_method", Text, nullable=False),
    sa.Column("size", Big, nullable=False),
    # Model or method that placed the sentences; empty where the person did.
    sa.Column("coder", Text, nullable=False, server_default=sa.text("''")),
    sqlite_autoincrement=True,
)

label_event = sa.Table(
    "label_event",
    metadata,
    sa.Column("step_id", Big, sa.ForeignKey("label_step.id", ondelete=_CASCADE), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("field", Text, nullable=False),
    sa.Column("sentence_id", Big),
    sa.Column("old", Json, nullable=False),
    sa.Column("new", Json, nullable=False),
    # Probability of the new cluster, where a model chose it and has one.
    sa.Column("probability", sa.Double),
)

# Who or what had put sentences into their clusters when the labelling began, where its origin does not tell: labels of
# files with coders, of other labellings, and of a consensus. Later labels follow from the history.
label_start = sa.Table(
    "label_start",
    metadata,
    _of_labelling(),
    sa.Column("sentence_id", Big, primary_key=True, autoincrement=False),
    sa.Column("source", Text, nullable=False),
    sa.Column("coder", Text, nullable=False),
    sa.Column("probability", sa.Double),
)

# One attempt of a person at the training items of a labelling.
practice = sa.Table(
    "practice",
    metadata,
    sa.Column("id", Big, primary_key=True, autoincrement=True),
    sa.Column("labelling_id", Big, sa.ForeignKey("labelling.id", ondelete=_CASCADE), nullable=False, index=True),
    sa.Column("person", Text, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    # Number of items, and of right answers.
    sa.Column("items", sa.Integer, nullable=False),
    sa.Column("correct", sa.Integer, nullable=False),
    # [sentence, number of the chosen cluster, number of the right one] of each item, in their order.
    sa.Column("answers", Json, nullable=False),
    sqlite_autoincrement=True,
)

label_presence = sa.Table(
    "label_presence",
    metadata,
    _of_labelling(),
    sa.Column("person", Text, primary_key=True),
    sa.Column("session", Text, primary_key=True),
    sa.Column("seen", UtcDateTime, nullable=False),
)

# Work on a part of a corpus that is given to people. Names of people are not foreign keys, as elsewhere.
task = sa.Table(
    "task",
    metadata,
    sa.Column("id", Big, primary_key=True, autoincrement=True),
    sa.Column("corpus_id", Big, sa.ForeignKey("corpus.id", ondelete=_CASCADE), nullable=False, index=True),
    sa.Column("name", Text, nullable=False, unique=True),
    # Who made it.
    sa.Column("person", Text, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("due", UtcDateTime),
    sa.Column("closed", UtcDateTime),
    sa.Column("instructions", Text, nullable=False),
    sa.Column("blind", sa.Boolean, nullable=False),
    # Overlap, order, seed, initial clusters, and whether people see their own checks.
    sa.Column("settings", Json, nullable=False),
    sa.Column("gold_id", Big, sa.ForeignKey("labelling.id", ondelete="SET NULL"), index=True),
    sqlite_autoincrement=True,
)

task_member = sa.Table(
    "task_member",
    metadata,
    sa.Column("task_id", Big, sa.ForeignKey("task.id", ondelete=_CASCADE), primary_key=True),
    sa.Column("person", Text, primary_key=True),
    # The person's own labelling; made when the person begins.
    sa.Column("labelling_id", Big, sa.ForeignKey("labelling.id", ondelete="SET NULL"), index=True),
    sa.Column("quota", sa.Integer),
)

# A range of sentences of an article, by position, for one person. Several people have a row each.
task_item = sa.Table(
    "task_item",
    metadata,
    sa.Column("id", Big, primary_key=True, autoincrement=True),
    sa.Column("task_id", Big, sa.ForeignKey("task.id", ondelete=_CASCADE), nullable=False, index=True),
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete=_CASCADE), nullable=False, index=True),
    sa.Column("first", sa.Integer, nullable=False),
    sa.Column("last", sa.Integer, nullable=False),
    sa.Column("person", Text, nullable=False),
    sa.Column("place", sa.Integer, nullable=False),
    # "distribution", "gold" or "routing": why the person has it.
    sa.Column("reason", Text, nullable=False),
    sa.Column("opened", UtcDateTime),
    sa.Column("done", UtcDateTime),
    sqlite_autoincrement=True,
)


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
