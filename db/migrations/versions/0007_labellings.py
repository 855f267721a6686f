"""People, and what they label: current state, and a history that only grows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "person",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_person"),
    )
    _labelling()
    _state()
    _history()
    op.create_table(
        "label_presence",
        sa.Column("labelling_id", BIG, nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("labelling_id", "person", "session", name="pk_label_presence"),
        _key("label_presence", "labelling"),
    )


def _key(table: str, to: str, column: str = "") -> sa.ForeignKeyConstraint:
    name = column or f"{to}_id"
    return sa.ForeignKeyConstraint([name], [f"{to}.id"], name=f"fk_{table}_{name}", ondelete="CASCADE")


def _labelling() -> None:
    op.create_table(
        "labelling",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("blind", sa.Boolean(), nullable=False),
        sa.Column("article_id", BIG, nullable=True),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("sentences", BIG, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_labelling"),
        sa.UniqueConstraint("name", name="uq_labelling_name"),
        _key("labelling", "corpus"),
        _key("labelling", "article"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_labelling_corpus_id", "labelling", ["corpus_id"])
    op.create_index("ix_labelling_article_id", "labelling", ["article_id"])


def _state() -> None:
    op.create_table(
        "label_cluster",
        sa.Column("labelling_id", BIG, nullable=False),
        sa.Column("number", BIG, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("colour", sa.Integer(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("version", BIG, nullable=False),
        sa.PrimaryKeyConstraint("labelling_id", "number", name="pk_label_cluster"),
        _key("label_cluster", "labelling"),
    )
    op.create_table(
        "label",
        sa.Column("labelling_id", BIG, nullable=False),
        sa.Column("sentence_id", BIG, autoincrement=False, nullable=False),
        sa.Column("number", BIG, nullable=False),
        sa.Column("uncertain", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("version", BIG, nullable=False),
        sa.PrimaryKeyConstraint("labelling_id", "sentence_id", name="pk_label"),
        _key("label", "labelling"),
    )


def _history() -> None:
    op.create_table(
        "label_step",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("labelling_id", BIG, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("target", BIG, nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("how", sa.Text(), nullable=False),
        sa.Column("size", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_label_step"),
        _key("label_step", "labelling"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_label_step_labelling_id", "label_step", ["labelling_id"])
    op.create_table(
        "label_event",
        sa.Column("step_id", BIG, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("field", sa.Text(), nullable=False),
        sa.Column("sentence_id", BIG, nullable=True),
        sa.Column("old", sa.Text(), nullable=False),
        sa.Column("new", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("step_id", "position", name="pk_label_event"),
        _key("label_event", "label_step", "step_id"),
    )
