"""Predictions of waves, beside those of the rest of a labelling."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add the column."""
    op.add_column("prediction", sa.Column("wave", sa.Text(), nullable=False, server_default=sa.text("''")))
