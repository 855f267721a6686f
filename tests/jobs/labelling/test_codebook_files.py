"""A labelling exported as a REFI-QDA project and imported again has the same codebook and the same clusters."""

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from themescope.core.errors import DataError, ReadError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ClusterChange
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry, codes
from themescope.core.labelling.partition import UNASSIGNED, Partition, free_name
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Article, Paragraph, ReadAccount, Section
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common import reading
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.labelling import codebook, qda_projects, starts
from themescope.jobs.services.labelling.session import LabellingSession

TEXTS = [
    "Ana wrote: “<b>& it rained</b>”.",
    "It rained.",
    "😀 It rained\u2028again ]]>.",
    "=1+1",
    "It rained.",
    "\ufeffEnd \x0b.",
]


def stored(store: Store, *titles: str) -> int:
    """A corpus whose articles have two sections each, with texts that XML could spoil."""
    sections = (
        Section("", 1, (Paragraph("", tuple(TEXTS[:2])),)),
        Section("It rained.", 2, (Paragraph("", (TEXTS[2],)), Paragraph("", tuple(TEXTS[3:])))),
    )
    with store.writing() as w:
        corpus = w.corpora.create("Weather & <rain>", "en")
        w.corpora.add_articles(corpus.id, [Article(title, sections) for title in titles])
        w.corpora.finish(corpus.id, {})
    return corpus.id


def session_of(store: Store, corpus_id: int, name: str = "first") -> LabellingSession:
    record = starts.begin(store, NewLabelling(corpus_id, name, "lea"), starts.from_nothing)
    return LabellingSession(store, record.id, "lea")


def labelled(session: LabellingSession) -> None:
    """Three clusters on two levels, entries, examples, a note and a mark."""
    ids = session.partition.ids
    session.do(op.create(session.partition, 1, "Rain & <snow>", ids[:4], 11))
    session.do(op.create(session.partition, 2, "Numbers", ids[3:4], 35))
    session.do(op.create(session.partition, 3, "Empty", ids[:0], 3))
    cluster = session.partition.clusters[2]
    session.do(
        op.Operation(op.OperationKind.RENAME, "", op.ChangeSet((ClusterChange(cluster, replace(cluster, parent=1)),)))
    )
    entry = CodebookEntry(
        "About rain.\n\nExamples:\n- x", "wet\nNotes:", "dry", "ask Ana", (int(ids[1]),), (int(ids[4]), int(ids[2]))
    )
    session.do(book.write(session.partition, 1, entry))
    session.do(book.write(session.partition, 2, CodebookEntry(exclude="words")))
    session.do(op.note(session.partition, ids[2:3], "why \x01?\r\nbecause"))
    session.do(op.mark(session.partition, ids[4:6], True))


def facts(partition: Partition) -> tuple[object, ...]:
    """What a labelling says, with names in place of the numbers of clusters."""
    names = {number: cluster.name for number, cluster in partition.clusters.items()} | {UNASSIGNED: ""}
    shown = {
        names[c.cluster.number]: (names.get(c.cluster.parent or UNASSIGNED), c.cluster.colour, c.entry)
        for c in codes(partition)
    }
    placed = [names[number] for number in partition.numbers.tolist()]
    return shown, partition.ids.tolist(), placed, dict(partition.notes), partition.uncertain.tolist()


def imported(store: Store, corpus_id: int, path: Path) -> tuple[qda_projects.ProjectPlan, LabellingRecord]:
    plan = qda_projects.plan_project(store, corpus_id, path)
    new = NewLabelling(corpus_id, plan.name, "ben", article_id=plan.article_id)
    (record,) = qda_projects.begin(store, new, plan, path.name)
    return plan, record


def partition_of(store: Store, record: LabellingRecord) -> Partition:
    with store.reading() as r:
        return r.labellings.snapshot(record.id).partition


@pytest.mark.parametrize("titles", [["One"], ["One", "Two <&>"]])
def test_a_project_comes_back_identical(store: Store, tmp_path: Path, titles: list[str]) -> None:
    corpus = stored(store, *titles)
    session = session_of(store, corpus)
    labelled(session)
    path = tmp_path / "first.qdpx"
    path.write_bytes(qda_projects.qdpx(store, session.record.id))
    plan, again = imported(store, corpus, path)
    assert facts(partition_of(store, again)) == facts(session.partition)
    assert (plan.matched, plan.unmatched, plan.several, plan.missing) == (len(titles), (), 0, 0)
    assert (again.article_id is None) is (len(titles) > 1)
    twice = tmp_path / "again.qdpx"
    twice.write_bytes(qda_projects.qdpx(store, again.id))
    assert facts(partition_of(store, imported(store, corpus, twice)[1])) == facts(session.partition)


def test_a_large_project_is_planned_in_another_process(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = stored(store, "One")
    session = session_of(store, corpus)
    labelled(session)
    path = tmp_path / "first.qdpx"
    path.write_bytes(qda_projects.qdpx(store, session.record.id))
    monkeypatch.setattr(reading, "SMALL_BYTES", 0)
    assert facts(partition_of(store, imported(store, corpus, path)[1])) == facts(session.partition)
    assert qda_projects.write_texts(path, tmp_path / "texts.jsonl") == 1
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ReadError, match="not a REFI-QDA project"):
        qda_projects.plan_project(store, corpus, path)


names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=6)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_labelling_comes_back_identical(sqlite_store: Store, tmp_path: Path, data: st.DataObject) -> None:
    with sqlite_store.reading() as r:
        known = r.corpora.list()
    corpus = known[0].id if known else stored(sqlite_store, "One", "Two")
    session = session_of(sqlite_store, corpus, f"{data.draw(st.uuids())}")
    ids = session.partition.ids
    some = st.lists(st.sampled_from(ids.tolist()), max_size=5).map(tuple)
    for number in range(1, data.draw(st.integers(1, 4)) + 1):
        name = free_name(session.partition, " ".join(data.draw(names).split()))
        session.do(op.create(session.partition, number, name, data.draw(st.permutations(ids.tolist()))[:3], None))
        text = st.text(max_size=20)
        entry = CodebookEntry(*(data.draw(text) for _ in range(4)), data.draw(some), data.draw(some))
        session.do(book.write(session.partition, number, entry))
    session.do(op.note(session.partition, ids[:1], data.draw(st.text(max_size=20))))
    path = tmp_path / "any.qdpx"
    path.write_bytes(qda_projects.qdpx(sqlite_store, session.record.id))
    plan = qda_projects.plan_project(sqlite_store, corpus, path)
    assert facts(plan.codings[0].partition) == facts(session.partition)


@pytest.mark.parametrize("suffix", ["qdc", "json", "csv"])
def test_a_file_of_codes_comes_back_in_a_new_labelling(store: Store, tmp_path: Path, suffix: str) -> None:
    corpus = stored(store, "One")
    session = session_of(store, corpus)
    labelled(session)
    path, content = tmp_path / f"codes.{suffix}", codebook.written(store, session.record.id, suffix)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    other = session_of(store, corpus, "second")
    listed = codebook.read_codes(path)
    found = codebook.finder(store, other.partition.ids, listed)
    other.do(book.adopt(other.partition, listed, found, other.next_number).operation)
    mine, theirs = facts(session.partition)[0], facts(other.partition)[0]
    if suffix == "csv":  # which has no colours
        mine, theirs = ({k: (v[0], v[2]) for k, v in shown.items()} for shown in (mine, theirs))
    assert theirs == mine
    other.undo()
    assert not other.partition.clusters and not other.partition.entries


def test_documents_to_read(store: Store) -> None:
    session = session_of(store, stored(store, "One"))
    labelled(session)
    page, text = (codebook.written(store, session.record.id, suffix) for suffix in ("html", "md"))
    assert "<b>" not in page and "Rain &amp; &lt;snow&gt;" in page and "ask Ana" in page
    assert "## Rain" in text and "### Numbers (1 sentence)" in text and "sentence 2" in text


def test_texts_that_are_nowhere_yet_are_imported_first(sqlite_store: Store, tmp_path: Path) -> None:
    sections = (
        Section("", 1, (Paragraph("", ("Ana lives in Rome.", "She likes rain.")),)),
        Section("Weather", 2, (Paragraph("", ("It rained in May.",)), Paragraph("", ("Nobody knew why it did.",)))),
    )
    with sqlite_store.writing() as w:
        corpus = w.corpora.create("First", "en")
        w.corpora.add_articles(corpus.id, [Article("Ana & rain", sections)])
        w.corpora.finish(corpus.id, {})
    session = session_of(sqlite_store, corpus.id)
    ids = session.partition.ids
    session.do(op.create(session.partition, 1, "Rain", ids[1:3]))
    session.do(op.create(session.partition, 2, "Rome", ids[:1]))
    session.do(book.write(session.partition, 1, CodebookEntry("wet", examples=(int(ids[2]),))))
    path, articles = tmp_path / "first.qdpx", tmp_path / "texts.jsonl"
    path.write_bytes(qda_projects.qdpx(sqlite_store, session.record.id))
    assert qda_projects.write_texts(path, articles) == 1
    run_here(sqlite_store, "import-corpus", {"files": [str(articles)], "corpus": "Second"}, quiet=True)
    with sqlite_store.reading() as r:
        second = r.corpora.by_name("Second")
        (article,) = r.corpora.articles(second.id)
        assert [(s.title, s.level) for s in r.corpora.sections(article.id)] == [("", 1), ("Weather", 2)]
    plan, again = imported(sqlite_store, second.id, path)
    partition = partition_of(sqlite_store, again)
    names = {**{n: c.name for n, c in partition.clusters.items()}, UNASSIGNED: ""}
    assert [names[n] for n in partition.numbers.tolist()] == ["Rome", "Rain", "Rain", ""]
    assert (plan.matched, plan.missing) == (1, 0)
    assert [code.entry.definition for code in codes(partition)] == ["wet", ""]


def test_a_project_of_other_texts_is_refused(store: Store, tmp_path: Path) -> None:
    corpus = stored(store, "One")
    session = session_of(store, corpus)
    labelled(session)
    path = tmp_path / "first.qdpx"
    path.write_bytes(qda_projects.qdpx(store, session.record.id))
    with store.writing() as w:
        other = w.corpora.create("Other", "en")
        w.corpora.finish(other.id, {})
    plan = qda_projects.plan_project(store, other.id, path)
    assert (plan.matched, plan.unmatched, len(plan.codings[0].partition.ids)) == (0, ("One",), 0)
    with pytest.raises(DataError, match="no sentences"):
        qda_projects.begin(store, NewLabelling(other.id, "x", "lea"), plan, "x")
    empty = session_of(store, corpus, "empty")
    with pytest.raises(DataError, match="needs one"):
        codebook.written(store, empty.record.id, "qdc")
    with zipfile.ZipFile(path) as archive:
        assert all(name == "project.qde" or name.startswith("sources/") for name in archive.namelist())


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("maxqda.csv", "Color;Parent code;Code;Code memo\n#ff0000;;Bus;About buses\n#00ff00;Bus;Late;\n",
         [("Bus", "", "About buses"), ("Late", "Bus", "")]),
        ("taguette.csv", "tag,description,number of highlights\nbus,About buses,3\nbus.late,,2\n",
         [("bus", "", "About buses"), ("bus.late", "", "")]),
        ("qualcoder.txt", "late\tA memo\nbus>>late\nbus>>slow\n",
         [("bus", "", ""), ("late", "", "A memo"), ("late", "bus", ""), ("slow", "bus", "")]),
    ],
)  # fmt: skip
def test_lists_of_codes_of_other_programs(
    tmp_path: Path, name: str, content: str, expected: list[tuple[str, str, str]]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    found = codebook.read_codes(tmp_path / name)
    assert [(code.name, code.theme, code.texts.get("definition", "")) for code in found] == expected


def test_sets_of_a_codebook_are_counted(tmp_path: Path) -> None:
    path, account = tmp_path / "a.qdc", ReadAccount()
    path.write_text('<CodeBook><Codes><Code name="Bus"/></Codes><Sets><Set name="S"/></Sets></CodeBook>')
    assert [code.name for code in codebook.read_codes(path, account)] == ["Bus"]
    assert account.skipped == {"set of codes": 1} and account.entries[0].place == "S"
