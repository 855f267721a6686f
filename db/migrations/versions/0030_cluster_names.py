"""Clusters of a labelling have different names: what is compared is a column, unique for each labelling."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from alembic import op

from themescope.core.text.cleaning import folded_name

revision = "0030"
down_revision = "0029"

_CLUSTER = sa.table(
    "label_cluster",
    *map(sa.column, ("labelling_id", "number", "name", "colour", "parent", "version", "name_key")),
    sa.column("deleted", sa.Boolean),
)
_NEW_STEP = sa.text(
    "INSERT INTO label_step (labelling_id, kind, operation, summary, person, created, reason, selection_method, size, "
    "coder) VALUES (:labelling, 'do', 'rename', :summary, '', :now, '', '', 0, '') RETURNING id"
).bindparams(sa.bindparam("now", type_=sa.DateTime(timezone=True)))
_NEW_EVENT = sa.text(
    "INSERT INTO label_event (step_id, position, field, old, new) VALUES (:step, :position, 'itself', :old, :new)"
)


def upgrade() -> None:
    """Add the column and number clusters with the name of another one, as a step of the history of their labelling."""
    op.add_column("label_cluster", sa.Column("name_key", sa.Text()))
    c, connection = _CLUSTER.c, op.get_bind()
    rows = connection.execute(sa.select(_CLUSTER).where(c.deleted.is_(False)).order_by(c.labelling_id, c.number)).all()
    numbered = 0
    for labelling, group in groupby(rows, key=lambda row: row.labelling_id):
        clusters = [*group]
        taken, seen, changes = {folded_name(row.name) for row in clusters}, set[str](), []
        for row in clusters:
            name, n = row.name, 1
            while folded_name(name) in (seen if n == 1 else taken):
                n += 1
                name = f"{row.name[:192].strip()} {n}"
            seen.add(folded_name(name))
            if n > 1:
                taken.add(folded_name(name))
                changes.append((row, name))
            _write(row, name_key=folded_name(name))
        if changes:
            numbered += len(changes)
            summary = f"{len(changes)} cluster{'s' * (len(changes) != 1)} numbered: another one has the name"
            about = {"labelling": labelling, "summary": summary, "now": datetime.now(UTC)}
            step = connection.execute(_NEW_STEP, about).scalar_one()
            for position, (row, name) in enumerate(changes):
                rest = [row.colour] if row.parent is None else [row.colour, row.parent]
                old, new = (json.dumps([row.number, called, *rest], ensure_ascii=False) for called in (row.name, name))
                connection.execute(_NEW_EVENT, {"step": step, "position": position, "old": old, "new": new})
                _write(row, name=name, version=step)
    op.create_index("uq_label_cluster_name_key", "label_cluster", ["labelling_id", "name_key"], unique=True)
    if numbered:
        logging.getLogger(__name__).warning("%d clusters with the name of another one have a number now", numbered)


def _write(row: Any, **values: object) -> None:
    c = _CLUSTER.c
    one = (c.labelling_id == row.labelling_id) & (c.number == row.number)
    op.get_bind().execute(_CLUSTER.update().where(one).values(**values))
