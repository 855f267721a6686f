"""Tables of Ein Dor et al. 2018 have the numbers of the paper; its other ones have names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"

_NAMES = {"6": "ablations", "3": "benchmark", "2": "3", "1": "triplet-sets"}


def upgrade() -> None:
    """Rename the stored tables, each to a name that is free by then."""
    change = sa.text("UPDATE paper_table SET name = :new WHERE paper = 'ed18' AND name = :old")
    for old, new in _NAMES.items():
        op.get_bind().execute(change, {"old": old, "new": new})
