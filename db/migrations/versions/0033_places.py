"""Saved views name the pages as they are called now: Texts, Import and Code."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"

_PAGES = {"corpora": "texts", "relabel": "code"}


def upgrade() -> None:
    """Rename the pages of saved views, and the parameters of their addresses."""
    connection = op.get_bind()
    change = sa.text("UPDATE saved_view SET page = :page, query = :query WHERE id = :id")
    for row in connection.execute(sa.text("SELECT id, page, query FROM saved_view")).all():
        if row.page in _PAGES:
            new = _PAGES[row.page]
            connection.execute(
                change, {"id": row.id, "page": new, "query": row.query.replace(f"{row.page}_", f"{new}_")}
            )
