"""Cases, samples, suggested categories, counts, reports, and notebooks that go to another store."""

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.db.test_error_notebook import case
from tests.db.texts import add_corpus
from tests.webapp.filled import MODEL, SET, fill
from themescope.core.errors import DataError, ReadError
from themescope.core.labelling import markup
from themescope.core.labelling.error_cases import MOST_SENTENCES, CaseFacts, CaseKind, Passage
from themescope.core.records.stored import ErrorCase
from themescope.db.label_records import ErrorCategory, ErrorCoding, ErrorNote, Notebook
from themescope.db.store import Store
from themescope.jobs.bundles.selections import notebook_from_lines, notebook_lines
from themescope.jobs.queue.foreground import run_here
from themescope.jobs.services.accounts.personal_data import find_traces, forget
from themescope.jobs.services.notebook import counts as agreement
from themescope.jobs.services.notebook import report as files
from themescope.jobs.services.notebook.cases import Finding, draw, failures, sentence_case
from themescope.jobs.services.notebook.counts import OTHER_SECTIONS, CountScope, count_categories
from themescope.jobs.services.notebook.report import ReportOptions, report
from themescope.jobs.services.notebook.suggestions import BY_WORDS, suggest_categories

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script> | `code` [x](javascript:alert(1)) =1+1"


@pytest.fixture
def filled(sqlite_store: Store) -> Store:
    fill(sqlite_store)
    return sqlite_store


def notebook(
    coded: dict[str, list[set[int] | None]],
    sections: str = "",
    models: tuple[str, ...] = ("m",),
    notes: tuple[str, ...] = (),
) -> Notebook:
    """A notebook with the categories a, b and c (1 to 3), a case for each coding, and notes on the first cases."""
    n = max(map(len, coded.values()), default=len(notes))
    facts = [
        CaseFacts("x", (Passage("t", "A", sections[i] if sections else "S"),), models, sentences=1) for i in range(n)
    ]
    cases = [ErrorCase(i + 1, 1, CaseKind.SENTENCE, (i,), f, "map?", None, "", NOW, None) for i, f in enumerate(facts)]
    categories = [ErrorCategory(i, 1, name, "", i, None, 0, "", NOW, None) for i, name in enumerate("abc", 1)]
    codings = [
        ErrorCoding(0, i, category, person, True, None, NOW)
        for person, given in coded.items()
        for i, codes in enumerate(given, 1)
        if codes is not None
        for category in codes or {None}
    ]
    written = [ErrorNote(i, i, i, text, "", NOW) for i, text in enumerate(notes, 1)]
    return Notebook(cases, written, categories, codings, [])


# --- cases and samples ------------------------------------------------------------------------------------------------


def test_sentences_become_a_case_with_their_places(sqlite_store: Store) -> None:
    corpus = add_corpus(sqlite_store)
    found = sentence_case(sqlite_store, corpus.id, [3, 1, 3], Finding("labelling L", placed={1: "in Wars"}), "relabel?")
    assert found.kind is CaseKind.GROUP and found.sentence_ids == (3, 1) and found.facts.sentences == 2
    assert [p.placed for p in found.facts.passages] == ["", "in Wars"] and all(p.article for p in found.facts.passages)
    one = sentence_case(sqlite_store, corpus.id, [2], Finding("map", ("default",), "in Wars"), "map?")
    assert one.kind is CaseKind.SENTENCE and one.facts.statements() == ["default: in Wars."]
    for ids in ([], [10_000], range(1, MOST_SENTENCES + 2)):
        with pytest.raises(DataError):
            sentence_case(sqlite_store, corpus.id, ids, Finding("map"), "map?")


def test_a_sample_of_wrong_triplets(filled: Store) -> None:
    with filled.reading() as r:
        (run,) = r.runs.list(kind="triplets")
    found = failures(filled, run, f"{MODEL} on {SET} (test)", lambda id: f"triplets?triplets_triplet={id}")
    assert len(found.ids) == 1 and found.model == MODEL
    sample = draw(filled, 1, found, 50, 3, "Ada")
    assert (sample.name, sample.population, sample.seed) == (f"1 of 1 failures of {MODEL} on {SET} (test)", 1, 3)
    with filled.reading() as r:
        (drawn,) = r.error_notebook.list(1)
    assert drawn.sample_id == sample.id and drawn.facts.models == (MODEL,) and drawn.facts.margins == {MODEL: -0.25}
    assert drawn.permalink == f"triplets?triplets_triplet={found.ids[0]}" and drawn.facts.predicted
    for size in (0, 501):
        with pytest.raises(DataError):
            draw(filled, 1, found, size, 0, "Ada")


def test_a_sample_of_sentences_in_the_wrong_cluster(filled: Store) -> None:
    with filled.reading() as r:
        run = next(run for run in r.runs.list(kind="clustering") if run.clusterer == "iclust")
        (item,) = r.benchmarks.items(run.benchmark_id or 0)
    found = failures(filled, run, "clusters", lambda title: f"compare?compare_article={title}")
    truth = dict(zip(item.sentence_ids.tolist(), item.truth.tolist(), strict=True))
    assert len(found.ids) == 12 and {truth[i] for i in found.ids.tolist()} == {3, 4, 5}, "three of six sections match"
    one, again = (draw(filled, 1, found, 5, 0, "Ada") for _ in range(2))
    with filled.reading() as r:
        cases = r.error_notebook.list(1)
    assert len(cases) == 5 and {c.sample_id for c in cases} == {one.id} and again.id != one.id, "one seed, one sample"
    assert all(c.facts.predicted.startswith("in a cluster that is mostly “") for c in cases)


# --- categories, counts and agreement ---------------------------------------------------------------------------------


def test_notes_suggest_categories() -> None:
    texts = ["The sentence has the same words."] * 4 + ["The date misleads the model."] * 4
    found = suggest_categories(notebook({}, notes=tuple(f"{t} Case {i}." for i, t in enumerate(texts))), BY_WORDS)
    assert sorted(sorted(one.case_ids) for one in found) == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert all(one.name and one.examples for one in found)
    with pytest.raises(DataError, match="at least 5 cases; so far 4"):
        suggest_categories(notebook({}, notes=tuple(texts[:4])))


def test_counts_have_intervals_and_say_what_they_describe() -> None:
    found = count_categories(notebook({"Ada": [{1}, {1, 2}, set(), None], "Ben": [{2}, None, None, {3}]}))
    assert [(row.category.name, row.cases) for row in found.categories] == [("a", 2), ("b", 2), ("c", 1)]
    assert found.coded == 4 and found.categories[0].share == 0.5
    # Wilson 1927 for 2 of 4.
    assert np.allclose([found.categories[0].low, found.categories[0].high], [0.1500, 0.8500], atol=1e-3)
    assert "describe the collected cases only" in found.statement()
    mine = count_categories(notebook({"Ada": [{1}], "Ben": [{2}]}), CountScope("Ben"))
    assert [row.cases for row in mine.categories] == [1, 0, 0]


def test_tables_by_model_and_section() -> None:
    found = count_categories(notebook({"Ada": [{1}, {1}, {2}, {2}]}, "AaBB"))
    assert found.by_section.columns == ["A", "B"] and found.by_section.found.counts[:2].tolist() == [[2, 0], [0, 2]]
    assert found.by_section.found.cramers_v == 1.0 and found.by_section.cell(0, 0) == "2 (+2.0 ▲)"
    assert found.by_model.columns == ["m"] and "expected count below 5" in found.by_section.reading()
    many = count_categories(notebook({"Ada": [{1}] * 12}, "ABCDEFGHIJKL"))
    assert len(many.by_section.columns) == 9 and OTHER_SECTIONS in many.by_section.columns


def test_agreement_of_the_pair_with_the_most_common_cases() -> None:
    of = notebook({"Ada": [{1}, {1}, {2}, None], "Ben": [{1}, {2}, {2}, None], "Cem": [None, None, None, {3}]})
    assert agreement.most_common_pair(of) == ("Ada", "Ben")
    found = agreement.agreement(of, ("Ada", "Ben"))
    assert [case.id for case, _, _ in found.disagreements] == [2]
    assert "undefined because neither gave" in agreement.in_words(found.categories[2].kappa)
    assert re.fullmatch(r"0\.\d\d \[.+\]", agreement.in_words(found.alpha))
    assert agreement.most_common_pair(notebook({"Ada": [{1}]})) is None


# --- reports and files ------------------------------------------------------------------------------------------------


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


def options() -> ReportOptions:
    return ReportOptions(
        HOSTILE, CountScope(), 2, lambda c: f"http://x/notebook?case={c.id}", lambda c: f"http://x/{c.permalink}"
    )


def hostile(store: Store) -> Notebook:
    corpus = add_corpus(store)
    with store.writing() as w:
        for number in range(3):
            added = w.error_notebook.add(case(corpus.id, source=f"{HOSTILE} {number}"), HOSTILE, HOSTILE)
            w.error_categories.add(corpus.id, f"{HOSTILE} {number}", HOSTILE, HOSTILE)
            for person in ("Ada", HOSTILE):
                w.error_categories.code(added.id, 1, person, True)
        return w.error_notebook.read(corpus.id)


def test_a_report_is_whole_and_escapes_every_text(sqlite_store: Store) -> None:
    blocks = report(sqlite_store, hostile(sqlite_store), options())
    html, markdown = markup.as_html(blocks, HOSTILE), markup.as_markdown(blocks)
    parsed = _Tags()
    parsed.feed(html)
    assert "script" not in parsed.tags and parsed.tags.count("svg") == 1 and "table" in parsed.tags
    assert {link.partition("?")[0] for link in parsed.links} == {"http://x/notebook", "http://x/triplets"}
    assert "<script" not in re.sub(r"\\<", "", markdown) and "](javascript" not in markdown
    for words in ("no longer stored", "Krippendorff", "both gave this category to every case", "95 % interval"):
        assert words in html
    assert "describe the collected cases only" in html and "Case 1" in html and "Case 3" not in html, "two examples"


def test_cases_as_files(sqlite_store: Store) -> None:
    found = hostile(sqlite_store)
    rows = [json.loads(line) for line in files.jsonl(found, lambda c: "http://x").splitlines()]
    assert len(rows) == 3 and rows[0]["notes"] == [{"person": HOSTILE, "text": HOSTILE}]
    assert rows[0]["categories"] == {"Ada": [f"{HOSTILE} 0"], HOSTILE: [f"{HOSTILE} 0"]}
    assert rows[0]["margins"] == {"default": -0.125} and rows[0]["permalink"] == "http://x"
    text = files.csv(found, lambda c: "=1+1")
    assert text.startswith("case,kind,source") and "'=1+1" in text


# --- copies in other stores -------------------------------------------------------------------------------------------


def without_ids(of: Notebook) -> str:
    """The content of a notebook as text, where cases are named by their facts."""
    facts = {c.id: c.facts.source for c in of.cases}
    names = {c.id: c.name for c in of.categories}
    return "\n".join(
        [
            *(f"{c.kind} {c.facts} {c.permalink} {c.person} {c.created} {c.sample_id is None}" for c in of.cases),
            *(f"{facts[n.case_id]} {n.text} {n.person} {n.created}" for n in of.notes),
            *(
                f"{c.name} {c.description} {c.colour} {names.get(c.merged_into or 0)} {c.deleted}"
                for c in of.categories
            ),
            *(f"{p} {facts[i]} {sorted(names[x] for x in s)}" for p, c in of.coded().items() for i, s in c.items()),
            *(f"{s.name} {s.population} {s.seed}" for s in of.samples),
        ]
    )


def test_a_bundle_carries_the_notebook(sqlite_store: Store, other: Store, tmp_path: Path) -> None:
    filled_notebook(sqlite_store)
    done = run_here(sqlite_store, "export-bundle", {"corpus": "demo"}, quiet=True)
    add_corpus(other, name="before")
    made = run_here(other, "import-bundle", {"file": done["file"]}, quiet=True)
    with sqlite_store.reading() as r, other.reading() as o:
        ours, theirs = r.error_notebook.read(1), o.error_notebook.read(made["corpus_id"])
        assert without_ids(ours) == without_ids(theirs)
        first = r.corpora.sentences_by_id(ours.cases[0].sentence_ids)
        copied = o.corpora.sentences_by_id(theirs.cases[0].sentence_ids)
        assert [s.text for s in first.values()] == [s.text for s in copied.values()]
        assert len(o.error_notebook.list(made["corpus_id"], deleted=True)) == 1
    with other.writing() as w:
        assert w.error_categories.undo(made["corpus_id"], "Ada") is not None, "undo reaches back before the copy"


def filled_notebook(store: Store) -> None:
    corpus = add_corpus(store)
    with store.writing() as w:
        notes, kinds = w.error_notebook, w.error_categories
        sample = notes.add_sample(corpus.id, "1 of 9", "default", 9, 2**40, "Ada")
        drawn = (sample.id, None, None)
        new = [case(corpus.id, (n, n + 1, n + 8), f"s{n}") for n in (1, 2, 3)]
        cases = [notes.add(one, "Ada", "a note", of) for one, of in zip(new, drawn, strict=True)]
        made = [kinds.add(corpus.id, name, name.upper(), "Ben") for name in ("x", "y", "z")]
        kinds.code(cases[0].id, made[0].id, "Ada", True)
        kinds.code(cases[0].id, None, "Ben", True)
        kinds.code(cases[1].id, made[2].id, "Ada", True)
        kinds.undo(corpus.id, "Ada")
        kinds.merge(made[0], made[1].id, "Ada")
        kinds.delete(made[2], "Ada")
        first = notes.notes(corpus.id)[0]
        notes.change_note(first, "better", "Ada")
        notes.delete([cases[2].id], "Ada")


TEXT = st.text(max_size=12)
CODED = st.dictionaries(
    st.sampled_from(["Ada", "Ben", ""]), st.lists(st.none() | st.sets(st.integers(1, 3)), max_size=6)
)


@given(CODED)
def test_counts_never_exceed_the_coded_cases(coded: dict[str, list[set[int] | None]]) -> None:
    found = count_categories(notebook(coded))
    assert found.coded <= found.cases and all(0 <= row.cases <= found.coded for row in found.categories)
    if found.coded:
        assert all(row.low <= row.share <= row.high for row in found.categories)
        assert found.by_model.found.counts.sum() == sum(row.cases for row in found.categories)


def test_damaged_lines_are_refused(sqlite_store: Store) -> None:
    filled_notebook(sqlite_store)
    with sqlite_store.reading() as r:
        ids = r.corpora.sentence_ids(1)
    lines = [*notebook_lines(sqlite_store, 1, ids)]
    assert [json.loads(line) for line in lines] and notebook_from_lines(lines, len(ids), "x")
    damages = [
        ("error_case", "sentence_ids", [len(ids)]), ("error_case", "sentence_ids", [-1]), ("error_case", "kind", "x"),
        ("error_case", "facts", {}), ("error_case", "sample_id", 9), ("error_category", "merged_into", 7),
        ("error_category", "colour", -1), ("error_coding", "case_id", None), ("error_coding", "category_id", 3),
        ("error_note", "created", "2026-01-01"), ("error_note", "text", 1), ("error_sample", "population", True),
    ]  # fmt: skip
    for table, column, value in damages:
        at = next(i for i, line in enumerate(lines) if table in json.loads(line))
        row = json.loads(lines[at])
        row[table][column] = value
        with pytest.raises(ReadError):
            notebook_from_lines([*lines[:at], json.dumps(row), *lines[at + 1 :]], len(ids), "x")
    for line in ("[]", "{}", '{"person": {}}', "x"):
        with pytest.raises(ReadError):
            notebook_from_lines([line], len(ids), "x")


def test_forgetting_a_person_renames_them_in_the_notebook(sqlite_store: Store) -> None:
    filled_notebook(sqlite_store)
    with sqlite_store.writing() as w:
        w.error_notebook.add_note(1, "Ask Ada Lovelace-Byron or Ada.", "Ben")
    assert {"error_case.person", "error_note.person", "error_note.text", "error_coding.person"} <= set(
        find_traces(sqlite_store, "Ada").rows
    )
    forget(sqlite_store, "Ada")
    with sqlite_store.reading() as r:
        found = r.error_notebook.read(1)
    assert "Ada" not in {c.person for c in found.cases} | {n.person for n in found.notes} | set(found.coded())
    assert not [n for n in found.notes if re.search(r"\bAda\b", n.text)]
