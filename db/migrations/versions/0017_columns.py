"""Columns of corpora: further fields of articles and sentences. Corpora of earlier versions have none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables of definitions and values."""
    op.create_table(
        "corpus_column",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_corpus_column"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name="fk_corpus_column_corpus_id", ondelete="CASCADE"),
        sa.UniqueConstraint("corpus_id", "level", "name", name="uq_corpus_column_corpus_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "column_block",
        sa.Column("column_id", BIG, nullable=False),
        sa.Column("first", BIG, autoincrement=False, nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("ids", sa.LargeBinary(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("column_id", "first", name="pk_column_block"),
        sa.ForeignKeyConstraint(
            ["column_id"], ["corpus_column.id"], name="fk_column_block_column_id", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    """Remove the tables with their values."""
    op.drop_table("column_block")
    op.drop_table("corpus_column")
