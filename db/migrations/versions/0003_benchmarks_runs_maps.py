"""Benchmarks, runs with their scores, and maps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables of what is measured and drawn."""
    _benchmarks()
    _runs()
    _scores()
    _maps()


def _reference(table: str, name: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([name], [f"{to}.id"], name=f"fk_{table}_{name}", ondelete="CASCADE")


def _benchmarks() -> None:
    op.create_table(
        "benchmark",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_benchmark"),
        _reference("benchmark", "corpus_id", "corpus"),
        sa.UniqueConstraint("name", name="uq_benchmark_name"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_benchmark_corpus_id", "benchmark", ["corpus_id"])
    op.create_table(
        "benchmark_item",
        sa.Column("benchmark_id", BIG, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("article_id", BIG, nullable=False),
        sa.Column("sentence_ids", sa.LargeBinary(), nullable=False),
        sa.Column("truth", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("benchmark_id", "position", name="pk_benchmark_item"),
        _reference("benchmark_item", "benchmark_id", "benchmark"),
        _reference("benchmark_item", "article_id", "article"),
    )
    op.create_index("ix_benchmark_item_article_id", "benchmark_item", ["article_id"])


def _runs() -> None:
    op.create_table(
        "run",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("model_id", BIG, nullable=True),
        sa.Column("benchmark_id", BIG, nullable=True),
        sa.Column("triplet_set_id", BIG, nullable=True),
        sa.Column("clusterer", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("seed", BIG, nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
        _reference("run", "model_id", "model"),
        _reference("run", "benchmark_id", "benchmark"),
        _reference("run", "triplet_set_id", "triplet_set"),
        sa.UniqueConstraint("digest", name="uq_run_digest"),
        sqlite_autoincrement=True,
    )
    for column in ("model_id", "benchmark_id", "triplet_set_id"):
        op.create_index(f"ix_run_{column}", "run", [column])
    op.create_table(
        "assignment",
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("article_id", BIG, nullable=False),
        sa.Column("labels", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "article_id", name="pk_assignment"),
        _reference("assignment", "run_id", "run"),
        _reference("assignment", "article_id", "article"),
    )
    op.create_index("ix_assignment_article_id", "assignment", ["article_id"])


def _scores() -> None:
    op.create_table(
        "score",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("article_id", BIG, nullable=True),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_score"),
        _reference("score", "run_id", "run"),
        _reference("score", "article_id", "article"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_score_run_id", "score", ["run_id"])
    op.create_index("ix_score_article_id", "score", ["article_id"])
    op.create_table(
        "margin",
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("split", sa.Integer(), nullable=False),
        sa.Column("triplet_ids", sa.LargeBinary(), nullable=False),
        sa.Column("margins", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "split", name="pk_margin"),
        _reference("margin", "run_id", "run"),
    )


def _maps() -> None:
    op.create_table(
        "map",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("model_id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("seed", BIG, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("faithfulness", sa.Double(), nullable=True),
        sa.Column("sampled_from", BIG, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("sentence_ids", sa.LargeBinary(), nullable=False),
        sa.Column("points", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_map"),
        _reference("map", "corpus_id", "corpus"),
        _reference("map", "model_id", "model"),
        sa.UniqueConstraint("digest", name="uq_map_digest"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_map_corpus_id", "map", ["corpus_id"])
    op.create_index("ix_map_model_id", "map", ["model_id"])
