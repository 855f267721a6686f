"""Tables of people, accounts and labellings.

Rows of ``label_step`` and ``label_event``, the history, are only added. ``label``, ``label_cluster`` and
``label_entry`` hold the current state, updated in the transaction that writes the events. The ``version`` of a row is
the step that changed it last (0 at the start); it is used to detect conflicts. Entries are compared by their value
instead.
"""

from __future__ import annotations

import sqlalchemy as sa

from themescope.core.records.stored import LabellingRecord, PredictionRecord
from themescope.db import records
from themescope.db.tables import id_table, metadata, record_table, reference, required, row_id, unique
from themescope.db.types import Big, Json, Text, UtcDateTime

_CASCADE = "CASCADE"
NOT_IN_BACKUPS = "not in backups"
"""Key in ``info`` of a table that backups leave empty: people sign in again after a restore."""


def _of_labelling() -> sa.Column[int]:
    return sa.Column("labelling_id", Big, sa.ForeignKey("labelling.id", ondelete=_CASCADE), primary_key=True)


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
    "api_token",
    records.ApiTokenRecord,
    sa.Column("person", Text, nullable=False, index=True),
    unique("token_hash"),
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
    _of_labelling(),
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

prediction = record_table(
    "prediction",
    PredictionRecord,
    reference("labelling"),
    sa.Column("wave", Text, nullable=False, server_default=sa.text("''")),
    required("sentence_ids", sa.LargeBinary),
    required("probabilities", sa.LargeBinary),
)


label_presence = sa.Table(
    "label_presence",
    metadata,
    _of_labelling(),
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
    sa.Column("task_id", Big, sa.ForeignKey("task.id", ondelete=_CASCADE), primary_key=True),
    sa.Column("person", Text, primary_key=True),
    reference("labelling", nullable=True, ondelete="SET NULL"),
    small=("quota",),
)

# A range of sentences of an article, by position, for one person. Several people have a row each.
task_item = record_table(
    "task_item", records.ItemRecord, reference("task"), reference("article"), small=("first", "last", "place")
)
