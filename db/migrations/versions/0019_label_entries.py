"""Entries of labellings (answers, codebook, training items), and themes of sub-themes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table of entries and add the column of the parent."""
    op.create_table(
        "label_entry",
        sa.Column("labelling_id", BIG, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("labelling_id", "kind", "key", name="pk_label_entry"),
        sa.ForeignKeyConstraint(
            ["labelling_id"], ["labelling.id"], name="fk_label_entry_labelling_id", ondelete="CASCADE"
        ),
    )
    op.add_column("label_cluster", sa.Column("parent", BIG))


def downgrade() -> None:
    """Remove the table and the column."""
    op.drop_table("label_entry")
    op.drop_column("label_cluster", "parent")
