"""Models that a person marked as multilingual."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; no model is marked."""
    op.add_column("model", sa.Column("multilingual", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Remove the column."""
    op.drop_column("model", "multilingual")
