"""Columns of the steps of labellings under the names that the code and the documentation use."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_RENAMED = {"what": "operation", "said": "summary", "why": "reason", "how": "selection_method"}


def upgrade() -> None:
    """Rename the columns in place; SQLite and PostgreSQL take the same statement."""
    for old, new in _RENAMED.items():
        op.execute(f"ALTER TABLE label_step RENAME COLUMN {old} TO {new}")
