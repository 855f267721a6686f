"""Tables of people, accounts, labellings and error notebooks.

Rows of ``label_step`` and ``label_event``, the history, are only added. ``label``, ``label_cluster`` and
``label_entry`` hold the current state, updated in the transaction that writes the events. The ``version`` of a row is
the step that changed it last (0 at the start); it is used to detect conflicts. Entries are compared by their value
instead. Rows of ``error_note`` and ``error_coding`` are only added: the newest row of a note, and the newest one of a
case, a category and a person count. Cases and categories are deleted softly, so that a deletion can be undone.
"""

from __future__ import annotations

import sqlalchemy as sa

from themescope.db.tables import id_table, metadata, reference, required
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
    required("role", Text),
    required("created", UtcDateTime),
    sa.Column("seen", UtcDateTime),
)

login = sa.Table(
    "login",
    metadata,
    sa.Column("person", Text, primary_key=True),
    # Empty for people who sign in through the organisation (OIDC).
    required("password", Text),
    required("changed", UtcDateTime),
)

# Only the hash of a session token is stored, so reading the store does not allow signing in.
session = sa.Table(
    "session",
    metadata,
    sa.Column("token_hash", Text, primary_key=True),
    sa.Column("person", Text, nullable=False, index=True),
    required("method", Text),
    required("created", UtcDateTime),
    required("seen", UtcDateTime),
    info={NOT_IN_BACKUPS: True},
)

# Only the hash of a token is stored. It has 256 random bits, so that a fast hash suffices.
api_token = id_table(
    "api_token",
    sa.Column("person", Text, nullable=False, index=True),
    required("name", Text),
    sa.Column("token_hash", Text, nullable=False, unique=True),
    required("created", UtcDateTime),
    sa.Column("used", UtcDateTime),
    required("expires", UtcDateTime),
    sa.Column("revoked", UtcDateTime),
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

audit_event = id_table(
    "audit_event",
    required("created", UtcDateTime),
    required("author", Text),
    required("action", Text),
    required("person", Text),
    required("detail", Text),
)

labelling = id_table(
    "labelling",
    reference("corpus", "corpus_id"),
    sa.Column("name", Text, nullable=False, unique=True),
    required("kind", Text),
    # Names of people are not foreign keys, because labels and reviews outlive accounts.
    required("owner", Text),
    required("blind", sa.Boolean),
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete=_CASCADE), index=True),
    required("origin", Json),
    required("sentences", Big),
    required("created", UtcDateTime),
    sa.Column("deleted", UtcDateTime),
)

label_cluster = sa.Table(
    "label_cluster",
    metadata,
    _of_labelling(),
    sa.Column("number", Big, primary_key=True, autoincrement=False),
    required("name", Text),
    required("colour", sa.Integer),
    required("deleted", sa.Boolean),
    required("version", Big),
    # Number of the theme of a sub-theme.
    sa.Column("parent", Big),
)

# No foreign key to the sentence: sentences are deleted with their corpus, which deletes its labellings.
label = sa.Table(
    "label",
    metadata,
    _of_labelling(),
    sa.Column("sentence_id", Big, primary_key=True, autoincrement=False),
    required("number", Big),
    required("uncertain", sa.Integer),
    required("note", Text),
    required("version", Big),
)

label_entry = sa.Table(
    "label_entry",
    metadata,
    _of_labelling(),
    sa.Column("kind", Text, primary_key=True),
    sa.Column("key", Text, primary_key=True),
    required("value", Json),
)

label_step = id_table(
    "label_step",
    reference("labelling", "labelling_id"),
    required("kind", Text),
    required("operation", Text),
    required("summary", Text),
    required("person", Text),
    required("created", UtcDateTime),
    sa.Column("target", Big),
    required("reason", Text),
    required("selection_method", Text),
    required("size", Big),
    # Model or method that placed the sentences; empty where the person did.
    sa.Column("coder", Text, nullable=False, server_default=sa.text("''")),
)

label_event = sa.Table(
    "label_event",
    metadata,
    sa.Column("step_id", Big, sa.ForeignKey("label_step.id", ondelete=_CASCADE), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    required("field", Text),
    sa.Column("sentence_id", Big),
    required("old", Json),
    required("new", Json),
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
    required("source", Text),
    required("coder", Text),
    sa.Column("probability", sa.Double),
)

# One attempt of a person at the training items of a labelling.
practice = id_table(
    "practice",
    reference("labelling", "labelling_id"),
    required("person", Text),
    required("created", UtcDateTime),
    # Number of items, and of right answers.
    required("items", sa.Integer),
    required("correct", sa.Integer),
    # [sentence, number of the chosen cluster, number of the right one] of each item, in their order.
    required("answers", Json),
)

label_presence = sa.Table(
    "label_presence",
    metadata,
    _of_labelling(),
    sa.Column("person", Text, primary_key=True),
    sa.Column("session", Text, primary_key=True),
    required("seen", UtcDateTime),
)

# Work on a part of a corpus that is given to people. Names of people are not foreign keys, as elsewhere.
task = id_table(
    "task",
    reference("corpus", "corpus_id"),
    sa.Column("name", Text, nullable=False, unique=True),
    # Who made it.
    required("person", Text),
    required("created", UtcDateTime),
    sa.Column("due", UtcDateTime),
    sa.Column("closed", UtcDateTime),
    required("instructions", Text),
    required("blind", sa.Boolean),
    # Overlap, order, seed, initial clusters, and whether people see their own checks.
    required("settings", Json),
    sa.Column("gold_id", Big, sa.ForeignKey("labelling.id", ondelete="SET NULL"), index=True),
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
task_item = id_table(
    "task_item",
    reference("task", "task_id"),
    reference("article", "article_id"),
    required("first", sa.Integer),
    required("last", sa.Integer),
    required("person", Text),
    required("place", sa.Integer),
    # "distribution", "gold" or "routing": why the person has it.
    required("reason", Text),
    sa.Column("opened", UtcDateTime),
    sa.Column("done", UtcDateTime),
)


# Cases that were drawn at random from a population, such as all failures of a model.
error_sample = id_table(
    "error_sample",
    reference("corpus", "corpus_id"),
    required("name", Text),
    required("model", Text),
    required("population", Big),
    required("seed", Big),
    required("person", Text),
    required("created", UtcDateTime),
)

error_case = id_table(
    "error_case",
    reference("corpus", "corpus_id"),
    required("kind", Text),
    # Hash of kind, sentences and source: the same case is not stored twice.
    required("digest", Text),
    required("sentence_ids", Json),
    required("facts", Json),
    # Path and query of the view that the case was found in, without the project.
    required("permalink", Text),
    reference("error_sample", "sample_id", nullable=True, ondelete="SET NULL"),
    required("person", Text),
    required("created", UtcDateTime),
    sa.Column("deleted", UtcDateTime),
    sa.UniqueConstraint("corpus_id", "digest", name="uq_error_case_corpus_id"),
)

# "note" is the id of the first row of a note; an empty text deletes it.
error_note = id_table(
    "error_note",
    reference("error_case", "case_id"),
    reference("error_note", "note", nullable=True),
    required("text", Text),
    required("person", Text),
    required("created", UtcDateTime),
)

error_category = id_table(
    "error_category",
    reference("corpus", "corpus_id"),
    required("name", Text),
    required("description", Text),
    required("colour", sa.Integer),
    # The category that this one was merged into; its cases count there.
    reference("error_category", "merged_into", nullable=True, ondelete="SET NULL"),
    # Raised by every change; it is used to detect conflicts.
    required("version", sa.Integer),
    required("person", Text),
    required("created", UtcDateTime),
    sa.Column("deleted", UtcDateTime),
)

# Without a category, the person judged that none applies.
error_coding = id_table(
    "error_coding",
    reference("error_case", "case_id"),
    reference("error_category", "category_id", nullable=True),
    required("person", Text),
    required("given", sa.Boolean),
    # The row that this one undoes.
    reference("error_coding", "undoes", nullable=True),
    required("created", UtcDateTime),
)
