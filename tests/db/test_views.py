from contextlib import AbstractContextManager

import pytest

from themescope.core.errors import AccessError, DataError, DuplicateNameError, UnknownNameError
from themescope.core.records.stored import Role
from themescope.db.store import Store, Unit


def test_a_view_is_kept_with_who_and_when_and_forgotten(store: Store) -> None:
    with store.writing() as w:
        first = w.views.add("compare", " hard ones ", "benchmark=a+b&article=%C3%9C", "Ada")
        second = w.views.add("map", "hard ones", "")
    assert (first.name, first.query, first.person) == ("hard ones", "benchmark=a+b&article=%C3%9C", "Ada")
    assert first.created.tzinfo is not None
    with store.reading() as r:
        assert r.views.list() == [second, first]
        assert r.views.list("compare") == [r.views.get(first.id)] == [first]
    with store.writing() as w:
        w.views.delete(first.id)
        assert w.views.list("compare") == []
        with pytest.raises(UnknownNameError):
            w.views.delete(first.id)


def test_a_view_of_somebody_else_stays_as_soon_as_there_is_an_admin(store: Store) -> None:
    with store.writing() as w:
        first, second, nobodys = (
            w.views.add("map", name, "", person) for name, person in zip("abc", ("Ada", "Ada", ""), strict=True)
        )
    with store.by(lambda: "Bob").writing() as w:
        w.views.delete(first.id)  # nobody has said who may do what
        w.people.set_role("Eve", Role.ADMIN, "Bob")
    for view, maker in ((second, "Ada"), (nobodys, "the person without a name")):
        with pytest.raises(AccessError, match=f"Only {maker}, who made it, or an admin"), _as("Bob", store) as w:
            w.views.delete(view.id)
    with _as("Ada", store) as w:
        w.views.delete(second.id)
    with _as("Eve", store) as w:
        w.views.delete(nobodys.id)
        assert w.views.list() == []


def _as(name: str, store: Store) -> AbstractContextManager[Unit]:
    return store.by(lambda: name).writing()


def test_what_cannot_be_kept_is_refused(store: Store) -> None:
    with store.writing() as w:
        w.views.add("compare", "mine", "a=1")
        with pytest.raises(DuplicateNameError, match="mine"):
            w.views.add("compare", "mine", "a=2")
        for name, query in (("  ", ""), ("x" * 201, ""), ("long", "x" * 9_000)):
            with pytest.raises(DataError):
                w.views.add("compare", name, query)
