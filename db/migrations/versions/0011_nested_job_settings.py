"""Settings inside the arguments of jobs become JSON objects; version 0.1 stored them as JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_RENAMED = {
    "settings_json": "settings",
    "rules_json": "rules",
    "task_json": "task",
    "classifier_json": "classifier",
    "rouge_json": "rouge",
}


def upgrade() -> None:
    """Rewrite the arguments, so that jobs of version 0.1 can be run and retried, and repeated work is found."""
    job = sa.table("job", sa.column("id"), sa.column("args"))
    connection = op.get_bind()
    for id, stored in connection.execute(sa.select(job)).all():
        args = json.loads(stored)
        if isinstance(args, dict) and args.keys() & _RENAMED.keys():
            text = json.dumps(_nested(args), ensure_ascii=False, separators=(",", ":"))
            connection.execute(job.update().where(job.c.id == id).values(args=text))


def _nested(args: Mapping[str, Any]) -> dict[str, Any]:
    return {_RENAMED.get(name, name): json.loads(value) if name in _RENAMED else value for name, value in args.items()}
