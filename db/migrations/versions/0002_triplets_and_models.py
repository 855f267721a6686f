"""Triplets, models, and their vectors."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables of triplet sets, of models and of vectors."""
    _triplets()
    _models()


def _triplets() -> None:
    op.create_table(
        "triplet_set",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("seed", BIG, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("ready", sa.Boolean(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_triplet_set"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name="fk_triplet_set_corpus_id", ondelete="CASCADE"),
        sa.UniqueConstraint("name", name="uq_triplet_set_name"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_triplet_set_corpus_id", "triplet_set", ["corpus_id"])
    op.create_table(
        "triplet",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("set_id", BIG, nullable=False),
        sa.Column("split", sa.Integer(), nullable=False),
        sa.Column("article_id", BIG, nullable=False),
        sa.Column("pivot_id", BIG, nullable=False),
        sa.Column("positive_id", BIG, nullable=False),
        sa.Column("negative_id", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_triplet"),
        sa.ForeignKeyConstraint(["set_id"], ["triplet_set.id"], name="fk_triplet_set_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_triplet_set_id_split_id", "triplet", ["set_id", "split", "id"])


def _models() -> None:
    op.create_table(
        "model",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("seed", BIG, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("corpus_id", BIG, nullable=True),
        sa.Column("triplet_set_id", BIG, nullable=True),
        sa.Column("metrics", sa.Text(), nullable=False),
        sa.Column("artifact", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_model"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name="fk_model_corpus_id", ondelete="SET NULL"),
        sa.ForeignKeyConstraint(
            ["triplet_set_id"], ["triplet_set.id"], name="fk_model_triplet_set_id", ondelete="SET NULL"
        ),
        sa.UniqueConstraint("name", name="uq_model_name"),
        sa.UniqueConstraint("digest", name="uq_model_digest"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_model_corpus_id", "model", ["corpus_id"])
    op.create_index("ix_model_triplet_set_id", "model", ["triplet_set_id"])
    op.create_table(
        "embedding",
        sa.Column("model_id", BIG, nullable=False),
        sa.Column("article_id", BIG, nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("dtype", sa.Text(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("model_id", "article_id", name="pk_embedding"),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name="fk_embedding_model_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["article_id"], ["article.id"], name="fk_embedding_article_id", ondelete="CASCADE"),
    )
    op.create_index("ix_embedding_article_id", "embedding", ["article_id"])
