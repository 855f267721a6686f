"""Removed waves and articles, and corrected texts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table, and the mark of removed articles."""
    op.add_column("article", sa.Column("removed", BIG))
    op.create_table(
        "corpus_edit",
        sa.Column("id", BIG, primary_key=True, autoincrement=True),
        sa.Column("corpus_id", BIG, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("kind", "what")),
        sa.Column("sentence_id", BIG, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("before", "after")),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("articles", "sentences", "labels")),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("undone", sa.DateTime(timezone=True)),
        sa.Column("steps", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name="fk_corpus_edit_corpus_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_corpus_edit_corpus_id", "corpus_edit", ["corpus_id"])
