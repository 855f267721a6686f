"""Search by meaning compares all vectors: indexes of large corpora go. Jobs name tables of papers as 0034 does."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"

_NAMES = {"6": "ablations", "3": "benchmark", "2": "3", "1": "triplet-sets"}


def upgrade() -> None:
    """Drop the table, whose files are removed as unused; rename tables in the arguments of reproductions."""
    op.drop_table("vector_index", if_exists=True)
    change = sa.text("UPDATE job SET args = :args WHERE id = :id")
    for id, args in op.get_bind().execute(sa.text("SELECT id, args FROM job WHERE kind = 'reproduce'")).all():
        given = json.loads(args) if isinstance(args, str) else args
        if given.get("paper") == "ed18" and given.get("tables"):
            tables = [_NAMES.get(name, name) for name in given["tables"]]
            op.get_bind().execute(change, {"id": id, "args": json.dumps(given | {"tables": tables})})
