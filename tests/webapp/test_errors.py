"""The Errors page, and the failures that other pages collect."""

import numpy as np
import pytest

from tests.webapp.filled import CORPUS, HOSTILE
from tests.webapp.hands import Open, plain_words_of, press
from themescope.core.errors import DataError
from themescope.core.labelling.coding import create_code
from themescope.core.records.stored import Role
from themescope.db.records import NewItem, NewTask
from themescope.db.repositories.failures import CollectedFailure
from themescope.db.store import Store
from themescope.jobs.services import failures, people
from themescope.jobs.services.labelling.session import LabellingSession


def texts(store: Store) -> list[str]:
    """Texts of the collected failures of the project, in their order."""
    with store.reading() as r:
        corpus = r.failures.of(CORPUS)
        ids = r.corpora.sentence_ids(corpus.id).tolist() if corpus else []
        known = r.corpora.sentences_by_id(ids)
    return [known[id].text for id in ids]


def column(store: Store, name: str) -> list[object]:
    with store.reading() as r:
        corpus = r.failures.of(CORPUS)
        assert corpus is not None
        found = next(one for one in r.columns.list(corpus.id) if one.name == name)
        values = r.columns.values(found, r.corpora.sentence_ids(corpus.id)).tolist()
    return [found.categories[value] for value in values] if found.categories else values


def test_failures_are_collected_coded_and_counted(filled_store: Store, open_page: Open) -> None:
    at = open_page("errors", person="ada", corpus=CORPUS)
    assert "Collect what it got wrong" in plain_words_of(at)
    found = [
        CollectedFailure("wrong triplet", f"{HOSTILE} {n}", HOSTILE, (n,), (HOSTILE,), {HOSTILE: -0.1}) for n in (1, 2)
    ]
    made = failures.collect(filled_store, 1, HOSTILE, found, "ben")
    assert failures.collect(filled_store, 1, HOSTILE, found, "ada").new == 0
    at = open_page("errors", person="ada", corpus=CORPUS)
    assert "**2 failures**, 0 coded by you" in plain_words_of(at)
    press(at, "Code them")
    record = failures.coding_of(filled_store, made.corpus, "ada")
    assert record.blind and record.sentences == 2
    session = LabellingSession(filled_store, record.id, "ada")
    session.do(create_code(session.partition, 1, "Negation", session.partition.ids[:1]))
    failures.collect(filled_store, 1, "another batch", found[:1], "ada")
    assert failures.coding_of(filled_store, made.corpus, "ada").id == record.id
    with filled_store.reading() as r:
        assert len(r.labellings.snapshot(record.id).partition.ids) == 3, "extended by the new failure"
    at = open_page("errors", person="ada", corpus=CORPUS)
    assert "**3 failures**, 1 coded by you" in plain_words_of(at)
    causes = at.dataframe[0].value
    assert causes.values.tolist() == [["Negation", 1, 1.0]]
    at = open_page("errors", person="ada", corpus=made.corpus.name)
    assert "**3 failures**, 1 coded by you" in plain_words_of(at)


def test_every_page_opens_on_a_list_of_failures(filled_store: Store, open_page: Open) -> None:
    found = [
        CollectedFailure("wrong triplet", f"Pivot: a {n}\nPositive: b\nNegative: c", "set", (n,)) for n in range(1, 4)
    ]
    made = failures.collect(filled_store, 1, "batch", found, "")
    assert open_page("errors").query_params["corpus"] == CORPUS, "errors are not the project that is worked on"
    record = failures.coding_of(filled_store, made.corpus, "")
    views = [("texts", "Read"), ("texts", "Import report"), ("tasks", "New task"), ("tasks", ""), ("train", "")]
    views += [("code", view) for view in ("", "Files", "Settings", "Learn from it", "Label the rest")]
    views += [(page, "") for page in ("map", "themes", "codebook", "agreement", "estimates", "triplets", "compare")]
    for page, view in views:
        about = {"labelling": record.name} if page == "code" else {}
        open_page(page, corpus=made.corpus.name, **about, **({"view": view} if view else {}))


def test_wrong_triplets_are_collected_where_they_are_browsed(filled_store: Store, open_page: Open) -> None:
    with filled_store.reading() as r:
        (chosen, *_) = r.triplets.list(1)
        run = next(one for one in r.runs.list(triplet_set_id=chosen.id, kind="triplets"))
        wrong = failures.failing(filled_store, run, "model").ids
    at = press(open_page("triplets", corpus=CORPUS, set=chosen.name, view="Browse"), "Collect as error")
    assert len(texts(filled_store)) == 1
    assert texts(filled_store)[0].startswith("Pivot: ") and "\nNegative: " in texts(filled_store)[0]
    (link,) = column(filled_store, "link")
    press(at, "Collect wrong ones")
    assert len(texts(filled_store)) >= len(wrong)
    assert sum(float(margin) < 0 for margin in column(filled_store, "margin")) >= len(wrong)
    assert str(link).startswith("triplets?") and "triplets_triplet=" in str(link)
    found = failures.failing(filled_store, run, "m on set (test)")
    about = (filled_store, 1, found, 2, 7, "ada", lambda id: f"triplets?t={id}")
    made = failures.collect_sample(*about)
    with filled_store.reading() as r:
        title = r.corpora.articles(made.corpus.id)[-1].title
    assert made.new == min(2, len(wrong)) and f"of {len(wrong):,} failures of m on set (test)" in title
    assert all(float(margin) < 0 for margin in column(filled_store, "margin")[-made.new :])
    again = failures.collect_sample(*about)
    assert again.new == 0 and np.array_equal(again.sentences, made.sentences), "the same seed draws the same"


def test_misplaced_sentences_of_a_clustering_are_drawn(filled_store: Store) -> None:
    with filled_store.reading() as r:
        run = next(one for one in r.runs.list(kind="clustering") if one.model_id is not None)
    found = failures.failing(filled_store, run, "clusters")
    made = failures.collect_sample(filled_store, 1, found, 3, 0, "", lambda title: f"compare?article={title}")
    assert made.new == min(3, len(found.ids))
    with filled_store.reading() as r:
        known = r.corpora.sentences_by_id(found.ids)
    assert {*texts(filled_store)} <= {sentence.text for sentence in known.values()}
    assert all(str(where).startswith("in a cluster that is mostly “") for where in column(filled_store, "placed"))


def test_what_others_gave_to_failures_is_hidden_until_its_task_is_closed(filled_store: Store) -> None:
    found = [CollectedFailure("sentence", f"text {n}", "a search", (n,)) for n in (1, 2)]
    made = failures.collect(filled_store, 1, "batch", found, "ada")
    people.set_role(filled_store, "max", Role.ADMIN)
    people.set_role(filled_store, "val", Role.VIEWER)
    own = {person: filled_store.by(lambda who=person: who) for person in ("ada", "ben", "cem")}
    of = {"ada": failures.coding_of(own["ada"], made.corpus, "ada")}
    with filled_store.reading() as r:
        assert r.tasks.list(made.corpus.id) == [], "one person needs no task"
        hidden = {person: r.labellings.hidden_from(person) for person in ("ada", "ben", "max", "val")}
        assert hidden == {"ada": set(), "ben": {of["ada"].id}, "max": set(), "val": set()}, "who has not begun"
    of["ben"] = failures.coding_of(own["ben"], made.corpus, "ben")
    session = LabellingSession(filled_store, of["ada"].id, "ada")
    session.do(create_code(session.partition, 1, "Negation", session.partition.ids))
    failures.collect(filled_store, 1, "later", found, "ada")
    failures.coding_of(own["ada"], made.corpus, "ada")
    with filled_store.writing() as w:
        (task,) = w.tasks.list(made.corpus.id)
        assert {item.range[0] for item in w.tasks.items(task.id, "ben")} == {
            *w.corpora.article_ids(made.corpus.id).tolist()
        }
        assert w.labellings.hidden_from("ben") == {of["ada"].id} and w.labellings.hidden_from("ada") == {of["ben"].id}
        w.tasks.close(task.id, True)
        assert w.labellings.hidden_from("ben") == frozenset()
    of["cem"] = failures.coding_of(own["cem"], made.corpus, "cem")
    with filled_store.reading() as r:
        assert r.labellings.hidden_from("cem") == {of["ada"].id, of["ben"].id}
        assert r.labellings.hidden_from("ben") == frozenset(), "who is done with it sees everything"


def test_labels_that_a_blind_task_hides_are_not_collected(filled_store: Store) -> None:
    with filled_store.writing() as w:
        article = w.corpora.articles(1)[0]
        first = w.corpora.sentences(article.id)[0].id
        task = w.tasks.create(NewTask(1, "blind", "", blind=True), {"": None}, [NewItem(article.id, 0, 1, "")])
    about = ([first], failures.DISAGREEMENT, "a against b", {first: "Housing (a), Rent (b)"}, "agreement")
    with pytest.raises(DataError, match="blind task"):
        failures.sentences(filled_store, *about, of_people=True)
    with filled_store.writing() as w:
        w.tasks.close(task.id, True)
    (found,) = failures.sentences(filled_store, *about, of_people=True)
    assert found.placed == "Housing (a), Rent (b)" and found.article == article.title


def test_what_cannot_be_collected_is_refused(filled_store: Store) -> None:
    found = [CollectedFailure("sentence", "a text", "a search", ())]
    made = failures.collect(filled_store, 1, "batch", found, "lea")
    with pytest.raises(DataError, match="has collected failures itself"):
        failures.collect(filled_store, made.corpus.id, "batch", found, "lea")
    for wrong in ([], found * (failures.MOST_DRAWN + 1)):
        with pytest.raises(DataError, match="Choose 1 to"):
            failures.collect(filled_store, 1, "batch", wrong, "lea")
