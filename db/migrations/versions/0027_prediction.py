"""Codes predicted for the sentences of a labelling that nobody has labelled."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "prediction",
        sa.Column("id", BIG, primary_key=True, autoincrement=True),
        sa.Column("labelling_id", BIG, nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("step", BIG, nullable=False),
        sa.Column("labels", BIG, nullable=False),
        sa.Column("sentences", BIG, nullable=False),
        sa.Column("codes", sa.Text(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sentence_ids", sa.LargeBinary(), nullable=False),
        sa.Column("probabilities", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["labelling_id"], ["labelling.id"], name="fk_prediction_labelling_id", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_prediction_labelling_id", "prediction", ["labelling_id"])
