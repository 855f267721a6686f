"""Indexes for the search among the vectors of large corpora."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table of indexes."""
    op.create_table(
        "vector_index",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("model_id", BIG, nullable=False),
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("size", BIG, nullable=False),
        sa.Column("vectors", BIG, nullable=False),
        sa.Column("recall", sa.Double(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_vector_index"),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name="fk_vector_index_model_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name="fk_vector_index_corpus_id", ondelete="CASCADE"),
        sa.UniqueConstraint("model_id", "corpus_id", name="uq_vector_index_model_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_vector_index_model_id", "vector_index", ["model_id"])
    op.create_index("ix_vector_index_corpus_id", "vector_index", ["corpus_id"])
