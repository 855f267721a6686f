"""Actions on labelling tasks, see :mod:`tests.contracts.test_actions`."""

from __future__ import annotations

from tests.contracts.scene import PEOPLE, Do, Scene
from themescope.core.labelling.task_items import DistributionPlan
from themescope.db.access import Right
from themescope.db.store import Unit
from themescope.db.task_records import NewItem, NewTask
from themescope.jobs.services.tasks import checks, making, work

_SETTINGS = {"share": 0.0, "several": 1, "order": "given", "seed": 0, "start": making.START_NOTHING, "tell": False}


def fill(w: Unit, corpus: int) -> None:
    """Add a task in which everybody has an item, and the first one has another."""
    articles = [article.id for article in w.corpora.articles(corpus)]
    items = [NewItem(articles[0], 0, 1, person) for person in PEOPLE] + [NewItem(articles[1], 0, 1, "lea")]
    w.tasks.create(NewTask(corpus, "task", "max", settings=_SETTINGS), dict.fromkeys(PEOPLE), items)


def _task(w: Unit) -> int:
    return w.tasks.list()[0].id


def _item(s: Scene, person: str, place: int = 0) -> int:
    with s.store.reading() as r:
        return r.tasks.items(_task(r), person)[place].id


def _make(s: Scene) -> None:
    with s.store.reading() as r:
        articles = tuple(article.id for article in r.corpora.articles(s.corpus))
    making.make(s.store, making.TaskForm(s.corpus, "new", s.name, articles, DistributionPlan(("lea", "ada"))))


def _finish(s: Scene, person: str) -> None:
    work.open_item(s.store, _item(s, person))
    work.finish_item(s.store, _item(s, person))


def _reopen(s: Scene, person: str) -> None:
    _finish(s, person)
    s.write(lambda w: w.tasks.reopen(_item(s, person)))


def _send(s: Scene) -> None:
    with s.store.reading() as r:
        task, article = _task(r), r.corpora.articles(s.corpus)[1].id
    checks.send(s.store, task, "ada", [checks.Routed((article, 0, 1), 1, 1.0)])


ACTIONS: dict[str, dict[str, tuple[Right, Do]]] = {
    "themescope.jobs.services.tasks.making.make": {"any": (Right.MANAGE, _make)},
    "themescope.jobs.services.tasks.work.open_item": {
        "of their own": (Right.LABEL, lambda s: work.open_item(s.store, _item(s, s.name))),
    },
    "themescope.jobs.services.tasks.work.finish_item": {
        "of their own": (Right.LABEL, lambda s: _finish(s, s.name)),
    },
    "themescope.jobs.services.tasks.checks.send": {"to anybody": (Right.MANAGE, _send)},
    "tasks.reopen": {"of their own": (Right.LABEL, lambda s: _reopen(s, s.name))},
    "tasks.reassign": {
        "of another": (
            Right.MANAGE, lambda s: s.write(lambda w: w.tasks.reassign(_task(w), [_item(s, "lea", 1)], "ada")),
        ),
    },
    "tasks.add_member": {"any": (Right.MANAGE, lambda s: s.write(lambda w: w.tasks.add_member(_task(w), "max")))},
    "tasks.close": {"of another": (Right.MANAGE, lambda s: s.write(lambda w: w.tasks.close(_task(w), True)))},
    "tasks.delete": {"of another": (Right.MANAGE, lambda s: s.write(lambda w: w.tasks.delete(_task(w))))},
}  # fmt: skip
