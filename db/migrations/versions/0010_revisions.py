"""Revisions of the code that made models, triplet sets and benchmarks; settings that version 0.1 left out."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Version 0.1 left these settings out of a stored config while they had their default.
_NETWORK: dict[str, object] = {"margin": 0.2, "norm_bound": 0.0, "training_limit": 0}
_NEIGHBOURS: dict[str, object] = {"neighbour_share": 1.0}
_SMOOTHING: dict[str, object] = {"unit_mixed": False, "axes": 0, "evenness": 1.0}
_OF_METHOD: dict[str, dict[str, object]] = {
    **dict.fromkeys(("triplets-sen", "triplets-titles", "triplets-sen-same-art", "triplets-sen-rand-art"), _NETWORK),
    **dict.fromkeys(("reg-dis", "reg-sim", "con-s2v-dis", "con-s2v-sim"), _NEIGHBOURS),
    **dict.fromkeys(("doc-mean", "neighbour-mean", "smoothed"), _SMOOTHING),
}
_OF_SAMPLED_SET = {"openers_only": True, "title_pivots": "first"}
_SAMPLED = "profile"
"""A rule that every sampled set has, and no set made from labels."""


def upgrade() -> None:
    """Add the columns (everything so far is of revision 1) and write the settings out."""
    for table in ("model", "triplet_set", "benchmark"):
        op.add_column(table, sa.Column("revision", sa.Integer(), nullable=False, server_default=sa.text("1")))
    connection = op.get_bind()
    model = sa.table("model", sa.column("id"), sa.column("method"), sa.column("config"))
    for id, method, config in connection.execute(sa.select(model)).all():
        _fill(connection, model, id, config, _OF_METHOD.get(method, {}))
    triplets = sa.table("triplet_set", sa.column("id"), sa.column("config"))
    for id, config in connection.execute(sa.select(triplets)).all():
        _fill(connection, triplets, id, config, _OF_SAMPLED_SET if _SAMPLED in json.loads(config) else {})


def _fill(connection: sa.Connection, table: sa.TableClause, id: int, config: str, defaults: dict[str, object]) -> None:
    known = json.loads(config)
    if defaults.keys() - known.keys():
        text = json.dumps({**defaults, **known}, separators=(",", ":"))
        connection.execute(table.update().where(table.c.id == id).values(config=text))
