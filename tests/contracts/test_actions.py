"""Every action of the pages, for every kind of visitor: what they may do is done, anything else changes nothing.

The actions are collected from the code of the pages: services that are called with the store of the visitor, and
methods of repositories. A new one that changes something fails the test until it is listed here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
import streamlit as st
from argon2 import PasswordHasher

from tests.contracts import notebook_actions, task_actions
from tests.contracts.page_calls import NO_ACTIONS, called_by_pages, changes, writes
from tests.contracts.scene import PEOPLE, Do, Scene
from tests.db.test_results import add_model
from tests.db.test_triplets import add_set
from tests.homes import MakeHome
from tests.jobs.test_kinds import do
from tests.webapp.browsers import SECRET
from themescope.core.errors import StoreError
from themescope.core.labelling import operations as op
from themescope.core.labelling.selections import Origin, Selection, selected
from themescope.core.models.linear_metric.directions import Directions, LinearMetricConfig
from themescope.db import label_tables as t
from themescope.db.access import Actor, Right
from themescope.db.label_records import LabellingRecord, NewLabelling, Role, Sharing
from themescope.db.records import Verdict
from themescope.db.settings import Settings
from themescope.db.sql import now
from themescope.db.store import Store, Unit
from themescope.db.tables import metadata
from themescope.jobs.queue import control
from themescope.jobs.services import pipeline, reproduction, selections
from themescope.jobs.services.accounts import people
from themescope.jobs.services.accounts import sign_in as service
from themescope.jobs.services.installation import samples
from themescope.jobs.services.labelling import files, metrics, starts, training
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.shared import queries
from themescope.webapp.shared.people import new_token

_BASE = "static-wikipedia"
pytestmark = pytest.mark.usefixtures("cheap_passwords")


# --- the actions ------------------------------------------------------------------------------------------------------


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


def _keep_metric(s: Scene) -> None:
    with s.store.reading() as r:
        base, record = r.models.by_name(_BASE), r.labellings.get(s.labelling)
        (x,) = r.embeddings.get(base.id, [r.corpora.articles(s.corpus)[0].id]).values()
    directions = Directions(np.eye(1, x.shape[1]), np.ones(1))
    metrics.keep(s.store, record, metrics.LearnedMetric(base, LinearMetricConfig(), directions, 9, (), None, None, 0.0))


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
    "themescope.jobs.services.selections.assign": {
        "shared labelling": (Right.LABEL, lambda s: selections.assign(s.store, *_into_shared(s), 1, s.name)),
    },
    "themescope.jobs.services.selections.new_cluster": {
        "shared labelling": (Right.LABEL, lambda s: selections.new_cluster(s.store, *_into_shared(s), "New", s.name)),
    },
    "themescope.jobs.services.labelling.starts.begin": {"of their own": (Right.LABEL, _begin)},
    "themescope.jobs.services.labelling.session.LabellingSession": {"shared labelling": (Right.LABEL, _label)},
    "themescope.jobs.services.labelling.training.record_attempt": {
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
    "themescope.jobs.services.labelling.files.import_lines": {
        "with the history of others": (
            Right.MANAGE, lambda s: files.import_lines(s.store, s.corpus, [*s.lines], "imported"),
        ),
    },
    "themescope.jobs.queue.control.enqueue": {
        "any job": (Right.MANAGE, lambda s: control.enqueue(s.store, "embed", {"corpus": "x", "model": "y"})),
    },
    "themescope.jobs.queue.control.cancel": {"any job": (Right.MANAGE, lambda s: control.cancel(s.store, s.job))},
    "themescope.jobs.queue.control.retry": {
        "any job": (Right.MANAGE, lambda s: (control.cancel(s.store, s.job), control.retry(s.store, s.job))),
    },
    "themescope.jobs.services.pipeline.queue_pipeline": {
        "any corpus": (Right.MANAGE, lambda s: pipeline.queue_pipeline(s.store, "x", "en")),
    },
    "themescope.jobs.services.pipeline.cancel_pipeline": {"any corpus": (Right.MANAGE, _cancel_pipeline)},
    "themescope.jobs.services.pipeline.retry_pipeline": {"any corpus": (Right.MANAGE, _retry_pipeline)},
    "themescope.jobs.services.pipeline.cluster_article": {"any article": (Right.MANAGE, _cluster_article)},
    "themescope.jobs.services.installation.samples.build_sample": {
        "any": (Right.MANAGE, lambda s: samples.build_sample(s.store, samples.SAMPLES[1])),
    },
    "themescope.jobs.services.reproduction.reproduce_again": {
        "any table": (Right.MANAGE, lambda s: reproduction.reproduce_again(s.store, s.table)),
    },
    "corpora.delete": {"any": (Right.MANAGE, lambda s: s.write(lambda w: w.corpora.delete(s.corpus)))},
    "triplets.delete": {"any": (Right.MANAGE, lambda s: s.write(lambda w: w.triplets.delete(s.set)))},
    "runs.rename_theme": {
        "any": (Right.MANAGE, lambda s: s.write(lambda w: w.runs.rename_theme(_themes(w), 0, "new"))),
    },
    "runs.set_config": {"any": (Right.MANAGE, lambda s: s.write(lambda w: w.runs.set_config(_themes(w), {})))},
    "models.set_multilingual": {
        "any": (Right.MANAGE, lambda s: s.write(lambda w: w.models.set_multilingual(s.model, True))),
    },
    "models.delete": {"any": (Right.MANAGE, lambda s: s.write(lambda w: w.models.delete(s.model)))},
    "themescope.jobs.services.accounts.people.set_role": {
        "of another": (Right.MANAGE, lambda s: people.set_role(s.store, "val", Role.ADMIN, s.name)),
        "as if they were an admin": (Right.MANAGE, lambda s: people.set_role(s.store, "val", Role.ADMIN, "ada")),
    },
    "themescope.jobs.services.accounts.people.add": {
        "an admin": (Right.MANAGE, lambda s: people.add(s.store, "new", Role.ADMIN, None, "ada")),
    },
    "themescope.jobs.services.accounts.people.remove": {
        "another": (Right.MANAGE, lambda s: people.remove(s.store, "gone", "ada"))
    },
    "themescope.jobs.services.labelling.metrics.keep": {"of a shared labelling": (Right.MANAGE, _keep_metric)},
    **notebook_actions.ACTIONS,
    **task_actions.ACTIONS,
}  # fmt: skip


def _themes(w: Unit) -> int:
    return next(run.id for run in w.runs.list() if run.kind == "themes")


def _few(w: Unit, corpus: int, count: int) -> Selection:
    return selected(corpus, w.corpora.sentence_ids(corpus)[:count], Origin("search", ("search",)))


def _into_shared(s: Scene) -> tuple[Selection, LabellingRecord]:
    """Return the last sentences of the shared labelling, which are not in its first cluster, and the labelling."""
    with s.store.reading() as r:
        ids = r.labellings.snapshot(s.labelling).partition.ids[-1:]
        return selected(s.corpus, ids, Origin("search", ("search",))), r.labellings.get(s.labelling)


def _selection(w: Unit, corpus: int, person: str) -> int:
    return next(record.id for record in w.selections.list(corpus) if record.person == person)


def test_every_action_of_the_pages_is_listed() -> None:
    called = called_by_pages()
    methods = {name for name in called if name.count(".") == 1}
    assert {name for name in methods if writes(name)} == {name for name in ACTIONS if name.count(".") == 1}
    services = {name for name in ACTIONS if name.count(".") > 1}
    assert {service for service in called - methods if changes(service)} == services | NO_ACTIONS


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
    token = new_token()
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
    do(store, "embed", corpus="demo", model=_BASE)
    for name in PEOPLE:  # before they have roles, since a viewer makes nothing
        own = NewLabelling(made.corpus_id, f"of {name}", name, Sharing.OWN)
        starts.begin(store, own, starts.from_sections)
        with store.writing() as w:
            w.views.add("map", f"of {name}", "a=1", name)
            w.selections.add(_few(w, made.corpus_id, 1), f"of {name}", name)
    with store.writing() as w:
        notebook_actions.fill(w, made.corpus_id)
        task_actions.fill(w, made.corpus_id)
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
        w.papers.put("modern", "overview", "quick", {"paper": "modern", "profile": "quick"}, {})


def _scene(store: Store, name: str) -> Scene:
    """What a visitor acts on."""
    with store.reading() as r:
        labellings = {record.name: record.id for record in r.labellings.list()}
        views = {view.name: view.id for view in r.views.list("map")}
        (deleted,), (made,), model = r.labellings.list(deleted=True), r.triplets.list(), r.models.by_name("model")
        job, (table,), triplet = r.jobs.list()[0], r.papers.list("modern"), int(r.triplets.ids(made.id)[0])
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
    cells = [(action, case, *cell) for action, cases in ACTIONS.items() for case, cell in cases.items()]
    allowed = [cell for cell in cells if role is not None and Actor("", role).may(cell[2])]
    for action, case, _, act in allowed:
        with visit(visitor) as (store, scene):
            before = content(store)
            act(scene)
            assert content(store) != before, (action, case)
    with visit(visitor) as (store, scene):
        before = content(store)
        for action, case, _, act in cells:
            if (action, case) not in {cell[:2] for cell in allowed}:
                with pytest.raises(StoreError):
                    act(scene)
                assert content(store) == before, (action, case)


def content(store: Store) -> list[object]:
    """Return every row of every table."""
    with store.reading() as r:
        connection = r.people.connection
        return [connection.execute(sa.select(table)).all() for table in metadata.sorted_tables]
