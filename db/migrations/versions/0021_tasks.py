"""Labelling tasks with their members and items."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "task",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("due", TIME),
        sa.Column("closed", TIME),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("blind", sa.Boolean(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("gold_id", BIG),
        sa.PrimaryKeyConstraint("id", name="pk_task"),
        sa.UniqueConstraint("name", name="uq_task_name"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name="fk_task_corpus_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["gold_id"], ["labelling.id"], name="fk_task_gold_id", ondelete="SET NULL"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_task_corpus_id", "task", ["corpus_id"])
    op.create_index("ix_task_gold_id", "task", ["gold_id"])
    op.create_table(
        "task_member",
        sa.Column("task_id", BIG, nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("labelling_id", BIG),
        sa.Column("quota", sa.Integer()),
        sa.PrimaryKeyConstraint("task_id", "person", name="pk_task_member"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name="fk_task_member_task_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["labelling_id"], ["labelling.id"], name="fk_task_member_labelling_id", ondelete="SET NULL"
        ),
    )
    op.create_index("ix_task_member_labelling_id", "task_member", ["labelling_id"])
    op.create_table(
        "task_item",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("task_id", BIG, nullable=False),
        sa.Column("article_id", BIG, nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("opened", TIME),
        sa.Column("done", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_task_item"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name="fk_task_item_task_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["article_id"], ["article.id"], name="fk_task_item_article_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_task_item_task_id", "task_item", ["task_id"])
    op.create_index("ix_task_item_article_id", "task_item", ["article_id"])


def downgrade() -> None:
    """Remove the tables."""
    op.drop_table("task_item")
    op.drop_table("task_member")
    op.drop_table("task")
