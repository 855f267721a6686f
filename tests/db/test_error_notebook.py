from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import pytest

from tests.db.texts import add_corpus
from themescope.core.errors import ConflictError, DataError, DuplicateNameError
from themescope.core.labelling.error_cases import CaseFacts, CaseKind, Passage, facts_of
from themescope.db.label_records import NewCase
from themescope.db.repositories.error_notebook import NOTE_LIMIT
from themescope.db.store import Store


def facts(source: str = "triplet set Rivers, test split", section: str = "History") -> CaseFacts:
    texts = ("pivot", "Rome was founded.", section), ("positive", "Kings ruled it.", section)
    passages = [
        Passage(text, "Rome", title, role) for role, text, title in (*texts, ("negative", "It rains.", "Climate"))
    ]
    return facts_of(source, passages, ["default"], {"default": -0.125, "other": float("nan")}, "Climate")


def case(corpus_id: int = 1, ids: tuple[int, ...] = (1, 2, 9), source: str = "set") -> NewCase:
    return NewCase(corpus_id, CaseKind.TRIPLET, ids, facts(source), "triplets?triplets_triplet=5")


def test_a_case_keeps_its_facts(store: Store) -> None:
    corpus = add_corpus(store)
    with store.writing() as w:
        added = w.error_notebook.add(case(corpus.id), "Ada", " Both are\0about wars. ")
    with store.reading() as r:
        notebook = r.error_notebook.read(corpus.id)
    assert [*notebook.cases] == [added] and added.facts == facts("set") and added.sentence_ids == (1, 2, 9)
    assert added.facts.statements() == ["default puts the pivot nearer to the negative by .12 (wrong)."]
    assert (added.facts.section, added.facts.article, added.facts.predicted) == ("History", "Rome", "Climate")
    assert [(n.text, n.person) for n in notebook.notes] == [("Both are\ufffdabout wars.", "Ada")]
    assert added.created.tzinfo is not None and added.person == "Ada"


def test_the_same_case_is_stored_once_and_comes_back(store: Store) -> None:
    corpus = add_corpus(store)
    with store.writing() as w:
        first = w.error_notebook.add(case(corpus.id), "Ada", "one")
        w.error_notebook.delete([first.id], "Ada")
        assert w.error_notebook.read(corpus.id).cases == []
        sample = w.error_notebook.add_sample(corpus.id, "50 of 100", "default", 100, 0, "Ben")
        again = w.error_notebook.add(case(corpus.id), "Ben", "two", sample.id)
        assert (again.id, again.person, again.sample_id, again.deleted) == (first.id, "Ada", sample.id, None)
        assert w.error_notebook.add(case(corpus.id, source="other set"), "Ben").id != first.id
        assert [n.text for n in w.error_notebook.notes(corpus.id)] == ["one", "two"]
        w.corpora.delete(corpus.id)
        assert w.error_notebook.list(corpus.id) == []


def test_triplets_of_one_pivot_with_other_titles_are_other_cases(store: Store) -> None:
    corpus = add_corpus(store)
    of = [NewCase(corpus.id, CaseKind.TRIPLET, (1,), facts(section=title), "t?") for title in ("Kings", "Wars")]
    of[0] = replace(of[0], facts=replace(of[0].facts, passages=(*of[0].facts.passages[:2], Passage("Art", "Rome", ""))))
    with store.writing() as w:
        assert len({w.error_notebook.add(one, "Ada").id for one in (*of, *of)}) == 2


def test_a_case_of_two_models_is_in_the_samples_of_both(store: Store) -> None:
    corpus = add_corpus(store)
    with store.writing() as w:
        first, second, again = (
            w.error_notebook.add_sample(corpus.id, f"1 of 9 failures of {model}", model, 9, 0, "Ada")
            for model in ("a", "b", "b")
        )
        by_hand = w.error_notebook.add(case(corpus.id), "Ada")
        cases = [w.error_notebook.add(case(corpus.id), "Ada", "", s.id) for s in (first, second, again)]
        assert [c.sample_id for c in cases] == [first.id, second.id, second.id] and cases[0].id == by_hand.id
        assert cases[1].facts.source == "set, failures of b" and cases[2].id == cases[1].id
        assert w.error_notebook.add(case(corpus.id), "Ada").id == by_hand.id


def test_notes_keep_their_history(store: Store) -> None:
    corpus = add_corpus(store)
    with store.writing() as w:
        of = w.error_notebook.add(case(corpus.id), "Ada")
        first, other = (w.error_notebook.add_note(of.id, text, "Ada") for text in ("first", "other"))
        changed = w.error_notebook.change_note(first, "better", "Ada")
        assert changed.note == first.id and [n.text for n in w.error_notebook.notes(corpus.id)] == ["better", "other"]
        with pytest.raises(ConflictError, match="changed meanwhile"):
            w.error_notebook.change_note(first, "worse", "Ada")
        deleted = w.error_notebook.change_note(changed, "", "Ada")
        assert w.error_notebook.notes(corpus.id) == [other]
        w.error_notebook.change_note(deleted, changed.text, "Ada")
        assert [n.text for n in w.error_notebook.note_history(first.id)] == ["first", "better", "", "better"]
        for text in ("", "x" * (NOTE_LIMIT + 1)):
            with pytest.raises(DataError):
                w.error_notebook.add_note(of.id, text, "Ada")


def test_of_two_simultaneous_changes_of_a_note_one_is_a_conflict(store: Store) -> None:
    corpus, refused = add_corpus(store), []

    def change() -> None:
        try:
            with store.writing() as other:
                other.error_notebook.change_note(note, "theirs", "an admin")
        except ConflictError as error:
            refused.append(error)

    with store.writing() as w:
        note = w.error_notebook.add_note(w.error_notebook.add(case(corpus.id), "Ada").id, "first", "Ada")
    with ThreadPoolExecutor(1) as pool:
        with store.writing() as w:
            w.error_notebook.change_note(note, "mine", "Ada")
            waiting = pool.submit(change)
            wait([waiting], 0.5)
        waiting.result()
    with store.reading() as r:
        assert [n.text for n in r.error_notebook.notes(corpus.id)] == ["mine"] and len(refused) == 1


def test_categories_are_renamed_merged_deleted_and_restored(store: Store) -> None:
    corpus = add_corpus(store)
    with store.writing() as w:
        of, k = w.error_notebook.add(case(corpus.id), "Ada"), w.error_categories
        a, b, c = (k.add(corpus.id, name, "", "Ada") for name in ("Same words", "Two topics", "Lead"))
        with pytest.raises(DuplicateNameError):
            k.add(corpus.id, "same WORDS", "", "Ben")
        renamed = k.change(a, "Shared words", "Different sections share words.", 3, "Ben")
        with pytest.raises(ConflictError):
            k.change(a, "Wrong", "", 0, "Ada")
        k.code(of.id, a.id, "Ada", True)
        k.code(of.id, c.id, "Ada", True)
        k.code(of.id, None, "Ben", True)
        merged = k.merge(renamed, b.id, "Ada")
        with pytest.raises(DataError):
            k.merge(b, merged.id, "Ada")
        gone = k.delete(c, "Ada")
        read = w.error_notebook.read
        assert read(corpus.id).coded() == {"Ada": {of.id: {b.id}}, "Ben": {of.id: set()}}
        assert [one.name for one in read(corpus.id).current_categories()] == ["Two topics"]
        k.add(corpus.id, "Lead", "", "Ben")
        k.restore(merged, "Ada")
        assert k.restore(gone, "Ada").name == "Lead 2"
        assert read(corpus.id).coded()["Ada"] == {of.id: {a.id, c.id}}


def test_codings_are_undone_one_by_one(store: Store) -> None:
    corpus = add_corpus(store)
    with store.writing() as w:
        of, k = w.error_notebook.add(case(corpus.id), "Ada"), w.error_categories
        a, b = (k.add(corpus.id, name, "", "Ada").id for name in "ab")

        def coded() -> set[int]:
            return set(w.error_notebook.read(corpus.id).coded().get("Ada", {}).get(of.id, ()))

        k.code(of.id, a, "Ada", True)
        k.code(of.id, b, "Ada", True)
        k.code(of.id, a, "Ada", False)
        k.code(of.id, a, "Ben", True)
        seen = [coded()]
        while k.undo(corpus.id, "Ada") is not None:
            seen.append(coded())
        assert seen == [{b}, {a, b}, {a}, set()]
        k.code(of.id, b, "Ada", True)
        assert coded() == {b} and k.undo(corpus.id, "Ada") == of.id and k.undo(corpus.id, "Ada") is None


def test_the_version_changes_with_the_notebook(sqlite_store: Store) -> None:
    corpus = add_corpus(sqlite_store)
    seen = []
    with sqlite_store.writing() as w:

        def look() -> None:
            seen.append(w.error_notebook.version(corpus.id))

        look()
        of = w.error_notebook.add(case(corpus.id), "Ada")
        look()
        note = w.error_notebook.add_note(of.id, "x", "Ada")
        look()
        w.error_notebook.change_note(note, "", "Ada")
        look()
        category = w.error_categories.add(corpus.id, "a", "", "Ada")
        look()
        w.error_categories.delete(category, "Ada")
        look()
        w.error_categories.code(of.id, None, "Ada", True)
        look()
        w.error_notebook.delete([of.id], "Ada")
        look()
        w.error_notebook.add_sample(corpus.id, "0 new of 9 failures of a", "a", 9, 0, "Ada")
        look()
    assert len(set(seen)) == len(seen)
