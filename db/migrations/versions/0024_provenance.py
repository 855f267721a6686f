"""Who or what made the labels of a labelling: the coder of a step, probabilities, and makers of initial labels."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns and the table. Labels of earlier versions get their provenance from origins and histories."""
    op.add_column("label_step", sa.Column("coder", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("label_event", sa.Column("probability", sa.Double()))
    op.create_table(
        "label_start",
        sa.Column("labelling_id", BIG, nullable=False),
        sa.Column("sentence_id", BIG, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("coder", sa.Text(), nullable=False),
        sa.Column("probability", sa.Double()),
        sa.PrimaryKeyConstraint("labelling_id", "sentence_id", name="pk_label_start"),
        sa.ForeignKeyConstraint(
            ["labelling_id"], ["labelling.id"], name="fk_label_start_labelling_id", ondelete="CASCADE"
        ),
    )
