"""Files of vectors outside of the database; vectors that are stored already stay where they are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables of files and of the blocks in them."""
    op.create_table(
        "vector_file",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("model_id", BIG, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("size", BIG, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_vector_file"),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name="fk_vector_file_model_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_vector_file_model_id", "vector_file", ["model_id"])
    op.create_table(
        "filed_embedding",
        sa.Column("model_id", BIG, nullable=False),
        sa.Column("article_id", BIG, nullable=False),
        sa.Column("file_id", BIG, nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("model_id", "article_id", name="pk_filed_embedding"),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name="fk_filed_embedding_model_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["article_id"], ["article.id"], name="fk_filed_embedding_article_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["file_id"], ["vector_file.id"], name="fk_filed_embedding_file_id", ondelete="CASCADE"),
    )
    op.create_index("ix_filed_embedding_article_id", "filed_embedding", ["article_id"])
    op.create_index("ix_filed_embedding_file_id", "filed_embedding", ["file_id"])
