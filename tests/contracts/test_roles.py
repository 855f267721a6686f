import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
import sqlalchemy as sa

from tests.places import ROOT
from themescope.core.errors import AccessError
from themescope.core.records.stored import Role
from themescope.db import access
from themescope.db.access import Actor, Right
from themescope.db.sql import bulk_insert
from themescope.db.store import Store, Unit
from themescope.db.tables import metadata
from themescope.jobs.services import people

T = TypeVar("T")
PEOPLE = {"val": Role.VIEWER, "lea": Role.LABELLER, "ada": Role.ADMIN}

# What it takes to write into each table. A new table fails the test until somebody has decided.
LOOK = {"label_presence"}
LABEL = {
    "labelling", "label_cluster", "label_entry", "label_start", "label", "label_step", "label_event", "person",
    "triplet_review", "saved_view", "selection", "task_member", "task_item",
}  # fmt: skip
MANAGE = {
    "corpus", "article", "section", "sentence", "job", "job_metric", "worker", "triplet_set", "triplet", "model",
    "embedding", "benchmark", "benchmark_item", "run", "assignment", "score", "margin", "map", "paper_table", "login",
    "session", "failed_sign_in", "audit_event", "vector_file", "filed_embedding",
    "api_token", "corpus_column", "column_block", "import_entry", "task", "prediction", "corpus_edit",
}  # fmt: skip


def right_of(table: str) -> Right:
    return Right.LOOK if table in LOOK else Right.LABEL if table in LABEL else Right.MANAGE


def test_every_table_is_classed() -> None:
    assert set(metadata.tables) == LOOK | LABEL | MANAGE
    assert {name: access.right_to_write(name) for name in metadata.tables} == {n: right_of(n) for n in metadata.tables}


def test_the_roles() -> None:
    rights = {role: {right for right in Right if Actor("x", role).may(right)} for role in Role}
    assert rights == {Role.VIEWER: {Right.LOOK}, Role.LABELLER: {Right.LOOK, Right.LABEL}, Role.ADMIN: set(Right)}


@pytest.mark.parametrize("name", PEOPLE)
def test_no_statement_gets_past(store: Store, name: str) -> None:
    for one in ("ada", "lea", "val"):
        people.set_role(store, one, PEOPLE[one])
    actor, guarded = Actor(name, PEOPLE[name]), store.by(lambda: name)
    for table in metadata.tables.values():
        allowed = actor.may(right_of(table.name))
        nothing, column = sa.false(), next(iter(table.c))
        with guarded.writing() as w:
            connection = w.people.connection
            for write in (
                lambda c, t=table, n=nothing: c.execute(t.delete().where(n)),
                lambda c, t=table, n=nothing, k=column: c.execute(t.update().where(n).values({k: k})),
                lambda c, t=table, n=nothing: c.execute(t.insert().from_select([*t.c], sa.select(*t.c).where(n))),
                lambda c, t=table: bulk_insert(c, t, [column.name for column in t.c], []),
            ):
                assert _is_let(connection, write) is allowed, table.name


def _is_let(target: T, write: Callable[[T], object]) -> bool:
    try:
        write(target)
    except AccessError:
        return False
    return True


def _passes(store: Store, write: Callable[[Unit], object]) -> bool:
    with store.writing() as w:
        return _is_let(w, write)


def test_as_long_as_there_is_no_admin_everybody_but_viewers_manages(sqlite_store: Store) -> None:
    people.set_role(sqlite_store, "val", Role.VIEWER)
    assert _passes(sqlite_store.by(lambda: "anybody"), lambda w: w.corpora.create("A", "en"))
    assert not _passes(sqlite_store.by(lambda: "val"), lambda w: w.corpora.create("B", "en"))
    people.set_role(sqlite_store, "ada", Role.ADMIN)
    assert not _passes(sqlite_store.by(lambda: "anybody"), lambda w: w.corpora.create("C", "en"))
    assert not _passes(sqlite_store.by(lambda: "val"), lambda w: w.people.set_role("val", Role.ADMIN, "ada"))


def test_a_change_of_role_counts_in_the_next_transaction(sqlite_store: Store) -> None:
    people.set_role(sqlite_store, "ada", Role.ADMIN)
    people.set_role(sqlite_store, "eve", Role.ADMIN)
    guarded = sqlite_store.by(lambda: "eve")
    assert _passes(guarded, lambda w: w.corpora.create("A", "en"))
    people.set_role(sqlite_store, "eve", Role.VIEWER)
    assert not _passes(guarded, lambda w: w.corpora.create("B", "en"))


def test_a_refused_change_is_logged(sqlite_store: Store, caplog: pytest.LogCaptureFixture) -> None:
    people.set_role(sqlite_store, "val", Role.VIEWER)
    assert not _passes(sqlite_store.by(lambda: "val"), lambda w: w.corpora.create("A", "en"))
    assert [record.getMessage() for record in caplog.records] == [
        "Refused 'val', who has the role viewer, to import, train, start jobs, delete, or set roles."
    ]


def test_pages_have_no_other_store_than_that_of_their_person() -> None:
    """Sign-in and probes come before a role is known, the account page changes the account of its own session, the API
    passes it on to services that act as the person, and the start of the server migrates; others: queries.store()."""
    calls = [
        (path.relative_to(ROOT / "webapp").as_posix(), called)
        for path in (ROOT / "webapp").rglob("*.py")
        for called in _resolved_calls(path, "Store", "server_store", "writing")
    ]
    assert {path for path, called in calls if called == "themescope.db.store.Store"} == {
        "start.py", "routes/middleware.py", "shared/people.py",
    }  # fmt: skip
    unchecked = {path for path, called in calls if called == "themescope.webapp.shared.people.server_store"}
    assert unchecked == {"routes/api.py", "routes/sign_in.py", "shared/queries.py"}
    writing = {(path == "shared/queries.py", called) for path, called in calls if called.endswith(".writing")}
    assert writing == {(True, "store().writing"), (False, "themescope.webapp.shared.queries.store().writing")}


def test_services_for_other_programs_write_as_their_person() -> None:
    changes = {"writing", "enqueue", "cancel", "retry", "begin", "LabellingSession"}
    modules = (ROOT / "jobs" / "api" / "routes").glob("*.py")
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in modules]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) in changes]
    assert len(found) > 5
    assert all("caller.store" in ast.unparse(call) for call in found)


def test_services_alone_see_what_is_hidden() -> None:
    modules = [path for folder in ("webapp", "jobs") for path in (ROOT / folder).rglob("*.py")]
    seeing = {path.parent.relative_to(ROOT).as_posix() for path in modules if _calls(path, "seeing_all")}
    assert seeing == {"jobs/services", "jobs/services/labelling"}


def test_repositories_write_in_ways_that_are_seen() -> None:
    """Statements as text would get past the check of tables."""
    modules = sorted((ROOT / "db" / "repositories").glob("*.py"))
    calls = [name for path in modules for name in _calls(path, "execute", "text", "exec_driver_sql")]
    assert {name.rpartition(".")[2] for name in calls} == {"execute"}


def _resolved_calls(path: Path, *names: str) -> list[str]:
    """:func:`_calls` with full names of what was imported: ``package.module.name``."""
    imports = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
    origins = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    return [re.sub(r"^\w+", lambda root: origins.get(root[0], root[0]), called) for called in _calls(path, *names)]


def _calls(path: Path, *names: str) -> list[str]:
    """What a module calls under one of these last names: ``a.b.name``."""
    source = path.read_text(encoding="utf-8")
    if not any(name in source for name in names):
        return []
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [ast.unparse(call) for call in calls if getattr(call, "attr", getattr(call, "id", "")) in names]
