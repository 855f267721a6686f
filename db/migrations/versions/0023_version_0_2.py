"""From version 0.1 to version 0.2.

The tables that 0.2 added are created from the models, so a later revision that adds a column to one of them has to
check whether it is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import context, op

from themescope.db.engine import read_password_file
from themescope.db.tables import metadata

revision = "0023"
down_revision = "0009"

_NEW = (
    "vector_file", "filed_embedding", "vector_index", "login", "session", "failed_sign_in", "audit_event", "api_token",
    "corpus_column", "column_block", "selection", "label_entry", "practice", "task", "task_member", "task_item",
    "error_sample", "error_case", "error_note", "error_category", "error_coding",
)  # fmt: skip
_RENAMED_COLUMNS = {"what": "operation", "said": "summary", "why": "reason", "how": "selection_method"}
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
_RENAMED_ARGUMENTS = {
    "settings_json": "settings",
    "rules_json": "rules",
    "task_json": "task",
    "classifier_json": "classifier",
    "rouge_json": "rouge",
}
"""Arguments of jobs that version 0.1 stored as JSON text."""


def upgrade() -> None:
    """Add tables and columns, and rewrite what version 0.1 stored differently. Its sessions end."""
    connection = op.get_bind()
    metadata.create_all(connection, [metadata.tables[name] for name in _NEW if name in metadata.tables])
    for table in ("model", "triplet_set", "benchmark"):
        op.add_column(table, sa.Column("revision", sa.Integer(), nullable=False, server_default=sa.text("1")))
    op.add_column("model", sa.Column("multilingual", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("label_cluster", sa.Column("parent", sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
    for old, new in _RENAMED_COLUMNS.items():
        op.execute(f"ALTER TABLE label_step RENAME COLUMN {old} TO {new}")
    op.drop_table("sign_in")
    _write_settings_out(connection)
    _nest_arguments(connection)
    _copy_hashes(connection, read_password_file(context.config.attributes["home"]))


def _write_settings_out(connection: sa.Connection) -> None:
    model = sa.table("model", sa.column("id"), sa.column("config"), sa.column("method"))
    sets = sa.table("triplet_set", sa.column("id"), sa.column("config"))
    defaults = [
        (model, id, config, _OF_METHOD.get(method, {})) for id, config, method in connection.execute(model.select())
    ]
    for id, config in connection.execute(sets.select()):
        defaults.append((sets, id, config, _OF_SAMPLED_SET if _SAMPLED in json.loads(config) else {}))
    for table, id, config, given in defaults:
        known = json.loads(config)
        if given.keys() - known.keys():
            text = json.dumps({**given, **known}, separators=(",", ":"))
            connection.execute(table.update().where(table.c.id == id).values(config=text))


def _nest_arguments(connection: sa.Connection) -> None:
    """Rewrite the arguments of jobs, so that they can be run and retried, and repeated work is found."""
    job = sa.table("job", sa.column("id"), sa.column("args"))
    for id, stored in connection.execute(job.select()).all():
        args = json.loads(stored)
        if isinstance(args, dict) and args.keys() & _RENAMED_ARGUMENTS.keys():
            text = json.dumps(_nested(args), ensure_ascii=False, separators=(",", ":"))
            connection.execute(job.update().where(job.c.id == id).values(args=text))


def _nested(args: Mapping[str, Any]) -> dict[str, Any]:
    renamed = _RENAMED_ARGUMENTS
    return {renamed.get(name, name): json.loads(value) if name in renamed else value for name, value in args.items()}


def _copy_hashes(connection: sa.Connection, hashes: Mapping[str, str]) -> None:
    """Copy the password hashes; people of the file without a role become labellers."""
    time = sa.DateTime(timezone=True)
    login = sa.table("login", sa.column("person"), sa.column("password"), sa.column("changed", time))
    person = sa.table("person", sa.column("name"), sa.column("role"), sa.column("created", time))
    known, now = {*connection.scalars(sa.select(person.c.name))}, datetime.now(UTC)
    for name, hashed in hashes.items():
        connection.execute(login.insert().values(person=name, password=hashed, changed=now))
        if name not in known:
            connection.execute(person.insert().values(name=name, role="labeller", created=now))
