"""Attempts of people at the training items of labellings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "practice",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("labelling_id", BIG, nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("correct", sa.Integer(), nullable=False),
        sa.Column("answers", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_practice"),
        sa.ForeignKeyConstraint(
            ["labelling_id"], ["labelling.id"], name="fk_practice_labelling_id", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_practice_labelling_id", "practice", ["labelling_id"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("practice")
