"""The text, and background work."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables of articles and of jobs."""
    _text()
    _sentences()
    _jobs()


def _text() -> None:
    op.create_table(
        "corpus",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("ready", sa.Boolean(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("articles", BIG, nullable=False),
        sa.Column("sections", BIG, nullable=False),
        sa.Column("paragraphs", BIG, nullable=False),
        sa.Column("sentences", BIG, nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_corpus"),
        sa.UniqueConstraint("name", name="uq_corpus_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "article",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("bucket", sa.Integer(), nullable=False),
        sa.Column("sections", sa.Integer(), nullable=False),
        sa.Column("sentences", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_article"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name="fk_article_corpus_id", ondelete="CASCADE"),
        sa.UniqueConstraint("corpus_id", "position", name="uq_article_corpus_id_position"),
        sqlite_autoincrement=True,
    )


def _sentences() -> None:
    op.create_table(
        "section",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("article_id", BIG, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_section"),
        sa.ForeignKeyConstraint(["article_id"], ["article.id"], name="fk_section_article_id", ondelete="CASCADE"),
        sa.UniqueConstraint("article_id", "position", name="uq_section_article_id_position"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "sentence",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("article_id", BIG, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("section", sa.Integer(), nullable=False),
        sa.Column("paragraph", sa.Integer(), nullable=False),
        sa.Column("opens_paragraph", sa.Boolean(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sentence"),
        sa.ForeignKeyConstraint(["article_id"], ["article.id"], name="fk_sentence_article_id", ondelete="CASCADE"),
        sa.UniqueConstraint("article_id", "position", name="uq_sentence_article_id_position"),
        sqlite_autoincrement=True,
    )


def _jobs() -> None:
    op.create_table(
        "job",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("after", BIG, nullable=True),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("queued", TIME, nullable=False),
        sa.Column("started", TIME, nullable=True),
        sa.Column("heartbeat", TIME, nullable=True),
        sa.Column("ended", TIME, nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("traceback", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
        sa.ForeignKeyConstraint(["after"], ["job.id"], name="fk_job_after", ondelete="SET NULL"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_status", "job", ["status"])
    op.create_index("ix_job_after", "job", ["after"])
    op.create_table(
        "job_metric",
        sa.Column("job_id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("step", sa.Double(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", "name", "step", name="pk_job_metric"),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_job_metric_job_id", ondelete="CASCADE"),
    )
    op.create_table(
        "worker",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("started", TIME, nullable=False),
        sa.Column("heartbeat", TIME, nullable=False),
        sa.PrimaryKeyConstraint("owner", name="pk_worker"),
    )
