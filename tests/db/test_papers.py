from themescope.db.store import Store

CONTENT = {"rows": [{"id": "a", "ours": {"ami": {"value": 0.25}}}], "note": "τ ≥ 1"}


def test_a_table_is_kept_by_paper_name_and_profile(store: Store) -> None:
    with store.writing() as w:
        first = w.papers.put("p", "1", "quick", {"corpus": "C"}, CONTENT)
        w.papers.put("p", "1", "full", {}, {})
        w.papers.put("q", "1", "quick", {}, {})
    with store.reading() as r:
        assert r.papers.find("p", "1", "quick") == first
        assert (first.content, first.arguments) == (CONTENT, {"corpus": "C"})
        assert r.papers.find("p", "2", "quick") is None
        assert [t.profile for t in r.papers.list("p")] == ["quick", "full"]
        assert [t.paper for t in r.papers.list(profile="quick")] == ["p", "q"]


def test_new_content_replaces_the_old_and_the_same_changes_nothing(store: Store) -> None:
    with store.writing() as w:
        first = w.papers.put("p", "1", "quick", {}, CONTENT)
    with store.writing() as w:
        assert w.papers.put("p", "1", "quick", {}, dict(CONTENT)) == first
    with store.writing() as w:
        second = w.papers.put("p", "1", "quick", {}, {"rows": []})
    assert (second.id, second.content) == (first.id, {"rows": []})
    assert second.created > first.created
    with store.reading() as r:
        assert r.papers.list() == [second]
