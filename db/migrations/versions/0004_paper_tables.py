"""Reproduced tables of papers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table of reproduced tables."""
    op.create_table(
        "paper_table",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("paper", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_paper_table"),
        sa.UniqueConstraint("paper", "name", "profile", name="uq_paper_table_paper_name_profile"),
        sqlite_autoincrement=True,
    )
