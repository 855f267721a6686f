"""Every action of the pages, for every kind of visitor: what they may do is done, anything else changes nothing.

The actions are collected from the code of the pages: services that are called with the store of the visitor, and
methods of repositories. A new one fails the test until it is listed here.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import streamlit as st
from argon2 import PasswordHasher

from core.errors import StoreError
from core.labelling import operations as op
from core.selections import Origin, Selection, selected
from db import label_tables as t
from db.access import Actor, Right
from db.label_records import LabellingRecord, NewLabelling, Role, Sharing
from db.records import PaperTableRecord, Verdict
from db.settings import Settings
from db.sql import now
from db.store import Store, Unit
from db.tables import metadata
from jobs.queue import control
from jobs.services import people, pipeline, reproduction, samples, selections
from jobs.services import sign_in as service
from jobs.services.labelling import files, starts, training
from jobs.services.labelling.session import LabellingSession
from tests.contracts import notebook_actions
from tests.db.test_results import add_model
from tests.db.test_triplets import add_set
from tests.homes import MakeHome
from tests.webapp.browsers import SECRET
from webapp.shared import cookies, queries

ROOT = Path(__file__).parents[2]
PEOPLE = {"val": Role.VIEWER, "lea": Role.LABELLER, "ada": Role.ADMIN}
pytestmark = pytest.mark.usefixtures("cheap_passwords")


# --- the actions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """Something of everything that pages change, and the store of a visitor."""

    store: Store
    name: str
    corpus: int
    labelling: int
    own_labelling: int
    deleted: int
    set: int
    triplet: int
    model: int
    job: int
    view: int
    own_view: int
    table: PaperTableRecord
    lines: tuple[str, ...]

    def write(self, change: Callable[[Unit], object]) -> None:
        with self.store.writing() as w:
            change(w)


def _label(s: Scene) -> None:
    session = LabellingSession(s.store, s.labelling, s.name)
    session.do(op.create(session.partition, session.next_number, "New", session.partition.ids[:1]))


def _begin(s: Scene) -> None:
    starts.begin(s.store, NewLabelling(s.corpus, "mine", s.name), starts.from_nothing)


def _cancel_pipeline(s: Scene) -> None:
    pipeline.cancel_pipeline(s.store, "x")


def _retry_pipeline(s: Scene) -> None:
    _cancel_pipeline(s)
    pipeline.retry_pipeline(s.store, "x")


def _cluster_article(s: Scene) -> None:
    with s.store.reading() as r:
        corpus, article = r.corpora.get(s.corpus), r.corpora.articles(s.corpus)[0]
    pipeline.cluster_article(s.store, corpus, article)


Do = Callable[[Scene], object]
ACTIONS: dict[str, dict[str, tuple[Right, Do]]] = {
    "people.heartbeat": {
        "of themselves": (Right.LOOK, lambda s: s.write(lambda w: w.people.heartbeat(s.labelling, s.name, "session"))),
    },
    "reviews.add": {
        "under their name": (
            Right.LABEL, lambda s: s.write(lambda w: w.reviews.add(s.set, s.triplet, s.name, Verdict.GOOD)),
        ),
        "under another name": (
            Right.MANAGE, lambda s: s.write(lambda w: w.reviews.add(s.set, s.triplet, "somebody", Verdict.GOOD)),
        ),
    },
    "views.add": {
        "of their own": (Right.LABEL, lambda s: s.write(lambda w: w.views.add("map", "new", "a=1", s.name))),
    },
    "views.delete": {
        "of their own": (Right.LABEL, lambda s: s.write(lambda w: w.views.delete(s.own_view))),
        "of another": (Right.MANAGE, lambda s: s.write(lambda w: w.views.delete(s.view))),
    },
    "selections.add": {
        "of their own": (
            Right.LABEL, lambda s: s.write(lambda w: w.selections.add(_few(w, s.corpus, 2), "new", s.name)),
        ),
    },
    "selections.delete": {
        "of their own": (
            Right.LABEL, lambda s: s.write(lambda w: w.selections.delete(_selection(w, s.corpus, s.name))),
        ),
        "of another": (
            Right.MANAGE, lambda s: s.write(lambda w: w.selections.delete(_selection(w, s.corpus, "max"))),
        ),
    },
    "jobs.services.selections.assign": {
        "shared labelling": (Right.LABEL, lambda s: selections.assign(s.store, *_into_shared(s), 1, s.name)),
    },
    "jobs.services.selections.new_cluster": {
        "shared labelling": (Right.LABEL, lambda s: selections.new_cluster(s.store, *_into_shared(s), "New", s.name)),
    },
    "jobs.services.labelling.starts.begin": {"of their own": (Right.LABEL, _begin)},
    "jobs.services.labelling.session.LabellingSession": {"shared labelling": (Right.LABEL, _label)},
    "jobs.services.labelling.training.record_attempt": {
        "under their name": (
            Right.LABEL, lambda s: training.record_attempt(s.store, s.labelling, s.name, [(1, 1, 1)]),
        ),
        "under another name": (
            Right.MANAGE, lambda s: training.record_attempt(s.store, s.labelling, "somebody", [(1, 1, 1)]),
        ),
    },
    "labellings.rename": {
        "shared labelling": (Right.LABEL, lambda s: s.write(lambda w: w.labellings.rename(s.labelling, "x", s.name))),
    },
    "labellings.share": {
        "of their own": (
            Right.LABEL,
            lambda s: s.write(lambda w: w.labellings.share(s.own_labelling, Sharing.SHARED, True, s.name)),
        ),
        "of another": (
            Right.MANAGE, lambda s: s.write(lambda w: w.labellings.share(s.labelling, Sharing.OWN, True, s.name)),
        ),
    },
    "labellings.delete": {
        "of their own": (Right.LABEL, lambda s: s.write(lambda w: w.labellings.delete(s.own_labelling, s.name))),
        "of another": (Right.MANAGE, lambda s: s.write(lambda w: w.labellings.delete(s.labelling, s.name))),
    },
    "labellings.restore": {
        "of another": (Right.MANAGE, lambda s: s.write(lambda w: w.labellings.restore(s.deleted, s.name))),
    },
    "jobs.services.labelling.files.import_lines": {
        "with the history of others": (
            Right.MANAGE, lambda s: files.import_lines(s.store, s.corpus, [*s.lines], "imported"),
        ),
    },
    "jobs.queue.control.enqueue": {
        "any job": (Right.MANAGE, lambda s: control.enqueue(s.store, "embed", {"corpus": "x", "model": "y"})),
    },
    "jobs.queue.control.cancel": {"any job": (Right.MANAGE, lambda s: control.cancel(s.store, s.job))},
    "jobs.queue.control.retry": {
        "any job": (Right.MANAGE, lambda s: (control.cancel(s.store, s.job), control.retry(s.store, s.job))),
    },
    "jobs.services.pipeline.queue_pipeline": {
        "any corpus": (Right.MANAGE, lambda s: pipeline.queue_pipeline(s.store, "x", "en")),
    },
    "jobs.services.pipeline.cancel_pipeline": {"any corpus": (Right.MANAGE, _cancel_pipeline)},
    "jobs.services.pipeline.retry_pipeline": {"any corpus": (Right.MANAGE, _retry_pipeline)},
    "jobs.services.pipeline.cluster_article": {"any article": (Right.MANAGE, _cluster_article)},
    "jobs.services.samples.build_sample": {
        "any": (Right.MANAGE, lambda s: samples.build_sample(s.store, samples.SAMPLES[1])),
    },
    "jobs.services.reproduction.reproduce_again": {
        "any table": (Right.MANAGE, lambda s: reproduction.reproduce_again(s.store, s.table)),
    },
    "corpora.delete": {"any": (Right.MANAGE, lambda s: s.write(lambda w: w.corpora.delete(s.corpus)))},
    "triplets.delete": {"any": (Right.MANAGE, lambda s: s.write(lambda w: w.triplets.delete(s.set)))},
    "runs.rename_theme": {
        "any": (Right.MANAGE, lambda s: s.write(lambda w: w.runs.rename_theme(w.runs.list()[0].id, 0, "new"))),
    },
    "runs.set_config": {"any": (Right.MANAGE, lambda s: s.write(lambda w: w.runs.set_config(w.runs.list()[0].id, {})))},
    "models.delete": {"any": (Right.MANAGE, lambda s: s.write(lambda w: w.models.delete(s.model)))},
    "jobs.services.people.set_role": {
        "of another": (Right.MANAGE, lambda s: people.set_role(s.store, "val", Role.ADMIN, s.name)),
        "as if they were an admin": (Right.MANAGE, lambda s: people.set_role(s.store, "val", Role.ADMIN, "ada")),
    },
    "jobs.services.people.add": {
        "an admin": (Right.MANAGE, lambda s: people.add(s.store, "new", Role.ADMIN, None, "ada")),
    },
    "jobs.services.people.remove": {"another": (Right.MANAGE, lambda s: people.remove(s.store, "gone", "ada"))},
}  # fmt: skip


def _few(w: Unit, corpus: int, count: int) -> Selection:
    return selected(corpus, w.corpora.sentence_ids(corpus)[:count], Origin("search", ("search",)))


def _into_shared(s: Scene) -> tuple[Selection, LabellingRecord]:
    """Return the last sentences of the shared labelling, which are not in its first cluster, and the labelling."""
    with s.store.reading() as r:
        ids = r.labellings.snapshot(s.labelling).partition.ids[-1:]
        return selected(s.corpus, ids, Origin("search", ("search",))), r.labellings.get(s.labelling)


def _selection(w: Unit, corpus: int, person: str) -> int:
    return next(record.id for record in w.selections.list(corpus) if record.person == person)


ACTIONS |= notebook_actions.ACTIONS
READING = notebook_actions.READING | {
    "jobs.common.model_notes.base_note",
    "jobs.common.model_choice.best_first",
    "jobs.common.model_notes.language_note",
    "jobs.common.models.built_on",
    "jobs.common.models.selectable_models",
    "jobs.common.theme_naming.materials_of_run",
    "jobs.kinds.learn_labels.placed_for_training",
    "jobs.kinds.learn_labels.training_labels",
    "jobs.services.backups.backup_state",
    "jobs.services.everything.find_everything",
    "jobs.services.inference.attention_of",
    "jobs.services.inference.models_for",
    "jobs.services.inference.preload",
    "jobs.services.inference.query_vector",
    "jobs.services.inference.stored_blocks",
    "jobs.services.inference.vectors_of",
    "jobs.services.labelling.assistance.similarities",
    "jobs.services.labelling.clusters.preview_parts",
    "jobs.services.labelling.codebook.finder",
    "jobs.services.labelling.codebook.json_text",
    "jobs.services.labelling.codebook.markdown",
    "jobs.services.labelling.codebook.plan_project",
    "jobs.services.labelling.codebook.qdc",
    "jobs.services.labelling.codebook.qdpx",
    "jobs.services.labelling.codebook.table",
    "jobs.services.labelling.codebook.web_page",
    "jobs.services.labelling.files.export_lines",
    "jobs.services.labelling.files.rows",
    "jobs.services.labelling.starts.from_labels",
    "jobs.services.labelling.tables.plan",
    "jobs.services.people.members",
    "jobs.services.pipeline.steps_of",
    "jobs.services.pipeline.working",
    "jobs.services.remote.search.find_similar",
    "jobs.services.search.index_of",
    "jobs.services.search.near",
    "jobs.services.columns.file_content",
    "jobs.services.search.sentences_with_words",
    "jobs.services.selections.centrality",
    "jobs.services.selections.compare",
    "jobs.services.selections.model_of",
    "jobs.services.selections.read_sentences",
    "jobs.services.selections.rows",
    "jobs.services.selections.texts_of",
}
"""Services of the pages that change nothing."""
SIGNING_IN = {
    "jobs.services.people.check_sharing",
    "jobs.services.sign_in.keep_alive",
    "jobs.services.sign_in.remember_name",
    "jobs.services.sign_in.session_of",
    "jobs.services.api_tokens.actor_of",
    "jobs.services.api_tokens.create",
    "jobs.services.api_tokens.revoke",
    "jobs.services.sign_in.account_of",
}
"""Services of the server itself, before a visitor is known; tests/webapp/test_sign_in.py tests them.

The account page, too, is one of the server: people make and revoke tokens of their own (tests/webapp/test_account.py).
"""
ON_AN_EMPTY_STORE = {"jobs.services.demo.seed_demo"}
_ALL = Unit(None, None)  # type: ignore[arg-type]
REPOSITORIES = {name for name, value in vars(_ALL).items() if type(value).__module__.startswith("db.repositories.")}
_WRITES = re.compile(r"\b\w+\.(insert|update|delete)\(\)|\binsert\(\w+\.|bulk_insert\(")
_STORES = {"queries.store()", "store", "store()", "server_store.store()"}


def called_by_pages() -> set[str]:
    """Return the services of the pages by full name, and the methods of repositories as ``repository.method``."""
    found = set()
    for path in (ROOT / "webapp").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        origins = {
            alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names
        }
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            if match := re.match(r"(?:r|w|repositories)\.(\w+)\.(\w+)$", name):
                found |= {".".join(match.groups())} if match[1] in REPOSITORIES else set()
            root = re.match(r"\w*", name)[0]  # type: ignore[index]
            full = origins.get(root, root) + name[len(root) :]
            if full.startswith("jobs.") and any(ast.unparse(given) in _STORES for given in call.args):
                found.add(re.sub(r"\(.*", "", full))
    return found


def writes(method: str) -> bool:
    """Return whether a method of a repository has a statement that writes, itself or in a method that it calls."""
    repository, _, name = method.partition(".")
    kind = type(getattr(_ALL, repository))
    pending, seen = [name], set()
    while pending:
        source = inspect.getsource(getattr(kind, name := pending.pop()))
        if _WRITES.search(source):
            return True
        seen.add(name)
        pending += {called for called in re.findall(r"self\.(\w+)\(", source) if hasattr(kind, called)} - seen
    return False


def test_every_action_of_the_pages_is_listed() -> None:
    called = called_by_pages()
    methods = {name for name in called if name.count(".") == 1}
    assert {name for name in methods if writes(name)} == {name for name in ACTIONS if name.count(".") == 1}
    services = {name for name in ACTIONS if name.count(".") > 1}
    assert called - methods == services | READING | SIGNING_IN | ON_AN_EMPTY_STORE


# --- the visitors -----------------------------------------------------------------------------------------------------


def _signed_in(store: Store, name: str) -> str:
    return service.sign_in(store, name, SECRET, "")


def _signed_out(store: Store) -> str:
    token = _signed_in(store, "ada")
    service.sign_out(store, token)
    return token


def _expired(store: Store) -> str:
    token = _signed_in(store, "ada")
    with store.writing() as w:
        w.people.connection.execute(t.session.update().values(seen=now() - store.settings.session_idle))
    return token


def _named(store: Store) -> str:
    token = cookies.new_token()
    service.remember_name(store, token, "ada")
    return token


VISITORS: dict[str, tuple[Role | None, Callable[[Store], str]]] = {
    "nobody": (None, lambda s: ""),
    "viewer": (Role.VIEWER, lambda s: _signed_in(s, "val")),
    "labeller": (Role.LABELLER, lambda s: _signed_in(s, "lea")),
    "admin": (Role.ADMIN, lambda s: _signed_in(s, "ada")),
    "signed out in another tab": (None, _signed_out),
    "forged cookie": (None, lambda s: _signed_in(s, "ada")[:-4] + "AAAA"),
    "expired": (None, _expired),
    "name that was only entered": (None, _named),
}


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(_fill)


def _fill(store: Store) -> None:
    made = add_set(store)
    add_model(store)
    for name in PEOPLE:  # before they have roles, since a viewer makes nothing
        own = NewLabelling(made.corpus_id, f"of {name}", name, Sharing.OWN)
        starts.begin(store, own, starts.from_sections)
        with store.writing() as w:
            w.views.add("map", f"of {name}", "a=1", name)
            w.selections.add(_few(w, made.corpus_id, 1), f"of {name}", name)
            notebook_actions.fill(w, made.corpus_id, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("db.passwords.HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        for name, role in {**PEOPLE, "gone": Role.VIEWER}.items():
            people.add(store, name, role, SECRET)
    for name, owner, sharing in (("shared", "max", Sharing.SHARED), ("deleted", "max", Sharing.OWN)):
        starts.begin(store, NewLabelling(made.corpus_id, name, owner, sharing), starts.from_sections)
    with store.writing() as w:
        w.labellings.delete(next(record.id for record in w.labellings.list() if record.name == "deleted"), "max")
        w.views.add("map", "of max", "a=1", "max")
        w.selections.add(_few(w, made.corpus_id, 1), "of max", "max")
        notebook_actions.fill(w, made.corpus_id, "max")
        w.runs.add(kind="themes", digest="t", config={"themes": [{"name": "old"}]})
        notebook_actions.add_failures(w, w.models.list()[0].id, made.id)
        w.jobs.add("embed", "x", {"corpus": "x", "model": "y"})
        w.papers.put("modern", "overview", "quick", {"paper": "modern", "profile": "quick"}, {})


def _scene(store: Store, name: str) -> Scene:
    """What a visitor acts on."""
    with store.reading() as r:
        labellings = {record.name: record.id for record in r.labellings.list()}
        views = {view.name: view.id for view in r.views.list("map")}
        (deleted,), (made,), (model,) = r.labellings.list(deleted=True), r.triplets.list(), r.models.list()
        (job,), (table,), triplet = r.jobs.list(), r.papers.list("modern"), int(r.triplets.ids(made.id)[0])
    return Scene(
        queries.store(),
        name,
        corpus=made.corpus_id,
        labelling=labellings["shared"],
        own_labelling=labellings[f"of {name}"],
        deleted=deleted.id,
        set=made.id,
        triplet=triplet,
        model=model.id,
        job=job.id,
        view=views["of max"],
        own_view=views[f"of {name}"],
        table=table,
        lines=tuple(files.export_lines(store, labellings["shared"]).splitlines(True)),
    )


@pytest.fixture
def visit(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], AbstractContextManager[tuple[Store, Scene]]]]:
    """Open a copy of the store, and the scene of a visitor in it."""
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    copies = count()

    @contextmanager
    def opened(visitor: str) -> Iterator[tuple[Store, Scene]]:
        folder = tmp_path / str(next(copies))
        shutil.copytree(home, folder)
        monkeypatch.setenv("THEMESCOPE_HOME", str(folder))
        store = Store(Settings.from_environment())
        role, begin = VISITORS[visitor]
        token = begin(store)
        monkeypatch.setattr("webapp.shared.store.store", lambda: store)
        monkeypatch.setattr("webapp.shared.people.browser_token", lambda sent: token)
        st.session_state.clear()
        name = next((name for name, its in PEOPLE.items() if its is role), "ada")
        try:
            yield store, _scene(store, name)
        finally:
            store.close()

    yield opened


@pytest.mark.parametrize("visitor", VISITORS)
def test_a_visitor_does_what_the_role_allows_and_nothing_else(visitor: str, visit: Any) -> None:
    role, _ = VISITORS[visitor]
    cells = [(action, case, *cell) for action, cases in ACTIONS.items() for case, cell in cases.items()]
    allowed = [cell for cell in cells if role is not None and Actor("", role).may(cell[2])]
    for action, case, _, do in allowed:
        with visit(visitor) as (store, scene):
            before = content(store)
            do(scene)
            assert content(store) != before, (action, case)
    with visit(visitor) as (store, scene):
        before = content(store)
        for action, case, _, do in cells:
            if (action, case) not in {cell[:2] for cell in allowed}:
                with pytest.raises(StoreError):
                    do(scene)
                assert content(store) == before, (action, case)


def content(store: Store) -> list[object]:
    """Return every row of every table."""
    with store.reading() as r:
        connection = r.people.connection
        return [connection.execute(sa.select(table)).all() for table in metadata.sorted_tables]
