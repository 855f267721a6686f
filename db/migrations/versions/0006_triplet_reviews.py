"""Verdicts of people on single triplets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table of reviews."""
    op.create_table(
        "triplet_review",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("set_id", BIG, nullable=False),
        sa.Column("triplet_id", BIG, nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["set_id"], ["triplet_set.id"], name="fk_triplet_review_set_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_triplet_review"),
        sqlite_autoincrement=True,
    )
    columns = ["set_id", "triplet_id", "person"]
    op.create_index("ix_triplet_review_set_id_triplet_id_person", "triplet_review", columns)
