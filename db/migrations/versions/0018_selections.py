"""Selections of sentences that people keep under a name or share as a link."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table of selections."""
    op.create_table(
        "selection",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("sentences", BIG, nullable=False),
        sa.Column("sentence_ids", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_selection"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name="fk_selection_corpus_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_selection_corpus_id", "selection", ["corpus_id"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("selection")
