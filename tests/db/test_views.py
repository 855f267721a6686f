from __future__ import annotations

import pytest

from core.errors import DataError, DuplicateNameError, UnknownNameError
from db.store import Store


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


def test_what_cannot_be_kept_is_refused(store: Store) -> None:
    with store.writing() as w:
        w.views.add("compare", "mine", "a=1")
        with pytest.raises(DuplicateNameError, match="mine"):
            w.views.add("compare", "mine", "a=2")
        for name, query in (("  ", ""), ("x" * 201, ""), ("long", "x" * 9_000)):
            with pytest.raises(DataError):
                w.views.add("compare", name, query)
