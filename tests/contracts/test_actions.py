"""Actions of the pages, for every kind of visitor: what they may do is done, anything else changes nothing."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import streamlit as st
from argon2 import PasswordHasher

from tests.db.test_results import add_model, add_set
from tests.homes import MakeHome
from tests.jobs.helpers import finish_item, open_item
from tests.jobs.test_kinds import do
from tests.webapp.browsers import SECRET
from themescope.core.errors import StoreError
from themescope.core.labelling import operations as op
from themescope.core.labelling.operations import Origin, Selection, selected
from themescope.core.labelling.task_items import DistributionPlan
from themescope.core.records.stored import LabellingRecord, Role, RunRecord, Sharing
from themescope.db import tables as t
from themescope.db.access import Actor, Right
from themescope.db.records import NewItem, NewLabelling, NewTask, Verdict
from themescope.db.repositories.failures import CollectedFailure
from themescope.db.settings import Settings
from themescope.db.sql import now
from themescope.db.store import Store, Unit
from themescope.db.tables import metadata
from themescope.jobs.queue import control
from themescope.jobs.services import failures, installation, people, pipeline, selections, tasks
from themescope.jobs.services.labelling import files, starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.shared import queries
from themescope.webapp.shared.people import new_token

PEOPLE = {"val": Role.VIEWER, "lea": Role.LABELLER, "ada": Role.ADMIN}
"""The people with a role; "max", who made what belongs to somebody else, has none yet."""


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
    job: int
    lines: tuple[str, ...]

    def write(self, change: Callable[[Unit], object]) -> None:
        with self.store.writing() as w:
            change(w)


Do = Callable[[Scene], object]
TASK = {"share": 0.0, "several": 1, "order": "given", "seed": 0, "start": tasks.START_NOTHING, "tell": False}
pytestmark = pytest.mark.usefixtures("cheap_passwords")


def _label(s: Scene) -> None:
    session = LabellingSession(s.store, s.labelling, s.name)
    session.do(op.create(session.partition, session.next_number, "New", session.partition.ids[:1]))


def _cluster_article(s: Scene) -> None:
    with s.store.reading() as r:
        corpus, article = r.corpora.get(s.corpus), r.corpora.articles(s.corpus)[0]
    pipeline.cluster_article(s.store, corpus, article)


def _collect(store: Store, corpus: int, person: str) -> None:
    found = [CollectedFailure("sentence", f"of {person}", "a search", ())]
    made = failures.collect(store, corpus, "a search", found, person)
    failures.coding_of(store, made.corpus, person)  # max has begun, so that a task hides the two from each other


def _task(w: Unit) -> int:
    return w.tasks.list()[0].id


def _item(s: Scene, person: str, place: int = 0) -> int:
    with s.store.reading() as r:
        return r.tasks.items(_task(r), person)[place].id


def _make_task(s: Scene) -> None:
    with s.store.reading() as r:
        articles = tuple(article.id for article in r.corpora.articles(s.corpus))
    tasks.make(s.store, tasks.TaskForm(s.corpus, "new", s.name, articles, DistributionPlan(("lea", "ada"))))


def _finish_item(s: Scene) -> None:
    open_item(s.store, _item(s, s.name))
    finish_item(s.store, _item(s, s.name))


def in_store(change: Callable[[Unit, Scene], object]) -> Do:
    return lambda s: s.write(lambda w: change(w, s))


def _share(labelling: Callable[[Scene], int], sharing: Sharing) -> Do:
    return in_store(lambda w, s: w.labellings.share(labelling(s), sharing, True, s.name))


# Each right, and what it allows: by repositories, and by services.
ACTIONS: dict[Right, dict[str, Do]] = {
    Right.LOOK: {"tell that one is here": in_store(lambda w, s: w.people.heartbeat(s.labelling, s.name, "session"))},
    Right.LABEL: {
        "review": in_store(lambda w, s: w.reviews.add(s.set, s.triplet, s.name, Verdict.GOOD)),
        "add a view": in_store(lambda w, s: w.views.add("map", "new", "a=1", s.name)),
        "delete an own view": in_store(lambda w, s: w.views.delete(_own(w.views.list("map"), s.name))),
        "add a selection": in_store(lambda w, s: w.selections.add(_few(w, s.corpus, 2), "new", s.name)),
        "delete an own selection": in_store(
            lambda w, s: w.selections.delete(_own(w.selections.list(s.corpus), s.name))
        ),
        "rename a shared labelling": in_store(lambda w, s: w.labellings.rename(s.labelling, "x", s.name)),
        "share an own labelling": _share(lambda s: s.own_labelling, Sharing.SHARED),
        "delete an own labelling": in_store(lambda w, s: w.labellings.delete(s.own_labelling, s.name)),
        "collect and code a failure": lambda s: _collect(s.store, s.corpus, s.name),
        "assign a selection": lambda s: selections.assign(s.store, *_into_shared(s), 1, s.name),
        "make a cluster of a selection": lambda s: selections.new_cluster(s.store, *_into_shared(s), "New", s.name),
        "begin a labelling": lambda s: starts.begin(s.store, NewLabelling(s.corpus, "x", s.name), starts.from_nothing),
        "label": _label,
        "open an own item": lambda s: open_item(s.store, _item(s, s.name)),
        "finish an own item": _finish_item,
    },
    Right.MANAGE: {
        "review for another": in_store(lambda w, s: w.reviews.add(s.set, s.triplet, "somebody", Verdict.GOOD)),
        "delete a view of another": in_store(lambda w, s: w.views.delete(_own(w.views.list("map"), "max"))),
        "delete a selection of another": in_store(
            lambda w, s: w.selections.delete(_own(w.selections.list(s.corpus), "max"))
        ),
        "share the labelling of another": _share(lambda s: s.labelling, Sharing.OWN),
        "delete the labelling of another": in_store(lambda w, s: w.labellings.delete(s.labelling, s.name)),
        "restore the labelling of another": in_store(lambda w, s: w.labellings.restore(s.deleted, s.name)),
        "delete a corpus": in_store(lambda w, s: w.corpora.delete(s.corpus)),
        "delete triplets": in_store(lambda w, s: w.triplets.delete(s.set)),
        "rename a theme": in_store(lambda w, s: w.runs.rename_theme(_themes(w).id, 0, "new")),
        "change themes of a run": in_store(lambda w, s: w.runs.set_themes(_themes(w).id, [{"name": "a"}], naming={})),
        "call a model multilingual": in_store(
            lambda w, s: w.models.set_multilingual(w.models.by_name("model").id, True)
        ),
        "delete a model": in_store(lambda w, s: w.models.delete(w.models.by_name("model").id)),
        "give items away": in_store(lambda w, s: w.tasks.reassign(_task(w), [_item(s, "lea", 1)], "ada")),
        "add a member": in_store(lambda w, s: w.tasks.add_member(_task(w), "max")),
        "close a task": in_store(lambda w, s: w.tasks.close(_task(w), True)),
        "delete a task": in_store(lambda w, s: w.tasks.delete(_task(w))),
        "make a task": _make_task,
        "import the history of others": lambda s: files.import_lines(s.store, s.corpus, [*s.lines], "imported"),
        "queue a job": lambda s: control.enqueue(s.store, "embed", {"corpus": "x", "model": "y"}),
        "cancel a job": lambda s: control.cancel(s.store, s.job),
        "retry a job": lambda s: (control.cancel(s.store, s.job), control.retry(s.store, s.job)),
        "queue a pipeline": lambda s: pipeline.queue_pipeline(s.store, "x", "en"),
        "cancel a pipeline": lambda s: pipeline.cancel_pipeline(s.store, "x"),
        "retry a pipeline": lambda s: (pipeline.cancel_pipeline(s.store, "x"), pipeline.retry_pipeline(s.store, "x")),
        "cluster an article": _cluster_article,
        "build a sample": lambda s: installation.import_sample(s.store),
        "change a role": lambda s: people.set_role(s.store, "val", Role.ADMIN, s.name),
        "change a role as if by an admin": lambda s: people.set_role(s.store, "val", Role.ADMIN, "ada"),
        "add an admin": lambda s: people.add(s.store, "new", Role.ADMIN, None, "ada"),
        "remove somebody": lambda s: people.remove(s.store, "gone", "ada"),
    },
}


def _themes(w: Unit) -> RunRecord:
    (found,) = w.runs.list(kind="themes")
    return found


def _few(w: Unit, corpus: int, count: int) -> Selection:
    return selected(corpus, w.corpora.sentence_ids(corpus)[:count], Origin("search", ("search",)))


def _into_shared(s: Scene) -> tuple[Selection, LabellingRecord]:
    """Return the last sentences of the shared labelling, which are not in its first cluster, and the labelling."""
    with s.store.reading() as r:
        ids = r.labellings.snapshot(s.labelling).partition.ids[-1:]
        return selected(s.corpus, ids, Origin("search", ("search",))), r.labellings.get(s.labelling)


def _own(records: Sequence[Any], person: str) -> int:
    return next(record.id for record in records if record.name == f"of {person}")


def _signed_in(store: Store, name: str) -> str:
    return people.sign_in(store, name, SECRET, "")


def _signed_out(store: Store) -> str:
    token = _signed_in(store, "ada")
    people.sign_out(store, token)
    return token


def _expired(store: Store) -> str:
    token = _signed_in(store, "ada")
    with store.writing() as w:
        w.people.connection.execute(t.session.update().values(seen=now() - store.settings.session_idle))
    return token


def _named(store: Store) -> str:
    token = new_token()
    people.remember_name(store, token, "ada")
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
    do(store, "embed", corpus="demo", model="static-wikipedia")
    for name in PEOPLE:  # before they have roles, since a viewer makes nothing
        own = NewLabelling(made.corpus_id, f"of {name}", name, Sharing.OWN)
        starts.begin(store, own, starts.from_sections)
        with store.writing() as w:
            w.views.add("map", f"of {name}", "a=1", name)
            w.selections.add(_few(w, made.corpus_id, 1), f"of {name}", name)
    _collect(store, made.corpus_id, "max")
    with store.writing() as w:
        articles = [article.id for article in w.corpora.articles(made.corpus_id)]
        items = [NewItem(articles[0], 0, 1, person) for person in PEOPLE] + [NewItem(articles[1], 0, 1, "lea")]
        w.tasks.create(NewTask(made.corpus_id, "task", "max", settings=TASK), dict.fromkeys(PEOPLE), items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("themescope.db.passwords.HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        for name, role in {**PEOPLE, "gone": Role.VIEWER}.items():
            people.add(store, name, role, SECRET)
    for name, owner, sharing in (("shared", "max", Sharing.SHARED), ("deleted", "max", Sharing.OWN)):
        starts.begin(store, NewLabelling(made.corpus_id, name, owner, sharing), starts.from_sections)
    with store.writing() as w:
        w.labellings.delete(next(record.id for record in w.labellings.list() if record.name == "deleted"), "max")
        w.views.add("map", "of max", "a=1", "max")
        w.selections.add(_few(w, made.corpus_id, 1), "of max", "max")
        w.runs.add(kind="themes", digest="t", config={"themes": [{"name": "old"}]})
        w.jobs.add("embed", "x", {"corpus": "x", "model": "y"})


def _scene(store: Store, name: str) -> Scene:
    with store.reading() as r:
        labellings = {record.name: record.id for record in r.labellings.list()}
        (deleted,), (made,) = r.labellings.list(deleted=True), r.triplets.list()
        job, triplet = r.jobs.list()[0], int(r.triplets.ids(made.id)[0])
    return Scene(
        queries.store(),
        name,
        corpus=made.corpus_id,
        labelling=labellings["shared"],
        own_labelling=labellings[f"of {name}"],
        deleted=deleted.id,
        set=made.id,
        triplet=triplet,
        job=job.id,
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
        monkeypatch.setattr("themescope.webapp.shared.people.server_store", lambda: store)
        monkeypatch.setattr("themescope.webapp.shared.people.browser_token", lambda sent: token)
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
    rights = [right for right in Right if role is not None and Actor("", role).may(right)]
    # What those with fewer rights may do, these show.
    for action, act in ACTIONS[rights[-1]].items() if rights else ():
        with visit(visitor) as (store, scene):
            before = content(store)
            act(scene)
            assert content(store) != before, action
    with visit(visitor) as (store, scene):
        before = content(store)
        for act in (act for right in {*Right}.difference(rights) for act in ACTIONS[right].values()):
            with pytest.raises(StoreError):
                act(scene)
        assert content(store) == before


def content(store: Store) -> list[object]:
    """Return every row of every table."""
    with store.reading() as r:
        connection = r.people.connection
        return [connection.execute(sa.select(table)).all() for table in metadata.sorted_tables]
