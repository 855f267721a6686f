"""Offset of each sentence in its paragraph."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the column; the offsets of stored sentences are unknown."""
    op.add_column("sentence", sa.Column("start", sa.Integer(), nullable=False, server_default=sa.text("-1")))
