import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import apply
from themescope.core.labelling.codebook import entries as codebook
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry, PortableCode, codes, entry_of
from themescope.core.labelling.markup import as_html, as_markdown
from themescope.core.labelling.partition import COLOURS, Cluster, Partition, start
from themescope.core.labelling.task_items import share_right, training_items

IDS = np.arange(10, 18, dtype=np.int64)
HEADINGS = st.sampled_from(["Inclusion rules:", "\\Examples:", "Notes:", "- a", "\\\\Notes:", ""])
hostile = st.text(max_size=30) | st.lists(st.text(max_size=8) | HEADINGS, max_size=5).map("\n".join)
ids = st.lists(st.sampled_from(IDS.tolist()), max_size=4).map(tuple)
entry_strategy = st.builds(CodebookEntry, hostile, hostile, hostile, hostile, ids, ids).map(codebook.checked)


def made() -> Partition:
    clusters = [Cluster(1, "Past", 0), Cluster(2, "War", 1, 1), Cluster(3, "Money", 9)]
    return start(IDS, [1, 1, 2, 2, 3, 3, 3, -1], clusters)


def written(partition: Partition, number: int, entry: CodebookEntry) -> Partition:
    return apply(partition, book.write(partition, number, entry).change_set)


def test_entries_follow_their_clusters_through_merges_deletions_and_re_clusterings() -> None:
    p = written(made(), 1, CodebookEntry("what was", include="years", examples=(10,)))
    p = written(p, 3, CodebookEntry("what is paid", exclude="gifts", examples=(14,), counter_examples=(10,)))
    merged = apply(p, op.merge(p, [1], 3).change_set)
    assert entry_of(merged, 3) == CodebookEntry("what is paid\n\nPast:\nwhat was", "years", "gifts", "", (14, 10), ())
    assert not entry_of(apply(p, op.delete(p, 3).change_set), 3)
    assert len(merged.entries) == 1
    p = written(made(), 3, CodebookEntry("what is paid"))
    parts = [("Money", IDS[4:6]), ("Coins", IDS[6:7])]
    after = apply(p, op.recluster(p, parts, 4, [3]).change_set)
    assert [bool(code.entry) for code in codes(after)] == [False, False, True, False]


def test_selected_sentences_become_examples_or_training_items_of_their_clusters() -> None:
    p = made()
    p = apply(p, book.add_own_examples(p, np.array([10, 12, 17])).change_set)
    assert (entry_of(p, 1).examples, entry_of(p, 2).examples, entry_of(p, 3)) == ((10,), (12,), CodebookEntry())
    moved = apply(p, book.add_examples(p, 1, [10], counter=True).change_set)
    assert (entry_of(moved, 1).examples, entry_of(moved, 1).counter_examples) == ((), (10,))
    with pytest.raises(DataError, match="Assign the sentence"):
        book.add_own_examples(p, np.array([17]))
    p = made()
    p = apply(p, book.choose_training(p, ["k", "l"], [14, 10], "because").change_set)
    assert [(item.sentence, item.cluster, item.explanation) for item in training_items(p)] == [
        (10, 1, "because"), (14, 3, "because"),
    ]  # fmt: skip
    item = training_items(p)[0]
    p = apply(p, book.explain_training(p, item, "a year").change_set)
    assert training_items(p)[0].explanation == "a year"
    moved = apply(p, op.assign(p, IDS[:1], 3).change_set)
    again = apply(moved, book.choose_training(moved, [], [10], "now").change_set)
    assert training_items(again)[0].cluster == 3
    assert len(training_items(apply(p, book.drop_training(p, item).change_set))) == 1
    assert len(training_items(apply(p, op.delete(p, 1).change_set))) == 1
    with pytest.raises(DataError, match="Assign the sentence"):
        book.choose_training(p, ["m"], [17])


def test_texts_and_examples_have_limits() -> None:
    with pytest.raises(DataError, match="20,000"):
        codebook.checked(CodebookEntry("a" * (codebook.TEXT_LIMIT + 1)))
    with pytest.raises(DataError, match="counter-examples"):
        codebook.checked(CodebookEntry(examples=tuple(range(codebook.EXAMPLE_LIMIT + 1))))
    assert codebook.checked(CodebookEntry(" a\r\nb\x01 ")).definition == "a\nb\ufffd"


@given(st.lists(entry_strategy, min_size=3, max_size=3))
def test_codes_come_back_from_description_json_and_table(entries: list[CodebookEntry]) -> None:
    p = made()
    for number, entry in enumerate(entries, 1):
        assert codebook.unpacked(codebook.packed(entry)) == entry == codebook.checked(entry)
        p = written(p, number, entry)
    shown = {int(id): codebook.reference(f"Sentence {id} (that)", "Art (icle)", int(id)) for id in IDS}
    known = {text: id for id, text in shown.items()}
    listed = codebook.portable(codes(p), shown, p.sizes())
    cells = [[str(cell) for cell in row] for row in codebook.rows(listed)]
    assert [(row[0], row[-1]) for row in cells] == [("Past", "2"), ("War", "2"), ("Money", "3")]
    bare = [PortableCode(c.name, c.theme, c.colour) for c in listed]
    for again in (
        codebook.from_json(codebook.json_text("x", listed)),
        codebook.from_rows(codebook.HEADER, cells),
        [codebook.described(code, codebook.description(c)) for code, c in zip(bare, listed, strict=True)],
    ):
        assert [codebook.entry_for(code, known.get) for code in again] == [(code.entry, 0) for code in codes(p)]
        assert [(code.name, code.theme) for code in again] == [("Past", ""), ("War", "Past"), ("Money", "")]


def test_another_file_is_no_codebook_and_short_rows_of_a_table_are_read() -> None:
    wrong = '{"format":"themescope codebook","version":1,"codes":[1]}'
    for text in ("", "[]", '{"format": "themescope codebook"}', wrong):
        with pytest.raises(DataError, match="codebook in JSON"):
            codebook.from_json(text)
    with pytest.raises(DataError, match="column “code”"):
        codebook.from_rows(["name"], [["a"]])
    listed = codebook.from_rows(["theme", "code"], [["a", "b"], [], ["c"], ["", "d"]])
    assert [code.name for code in listed] == ["b", "d"]


def test_the_texts_of_users_are_not_markup() -> None:
    code = PortableCode("# <b>x</b>", texts={"definition": "*a*\n1. b\n- c <script>"}, examples=("_e_ & <i>",))
    page, text = as_html(codebook.blocks("<t>", "", [code]), "<t>"), as_markdown(codebook.blocks("<t>", "", [code]))
    assert "<script>" not in page and "<b>" not in page and "<i>" not in page and "<t>" not in page
    assert "\\<script\\>" in text and "\\*a\\*" in text and "1\\. b" in text and "\\- c" in text
    lines = PortableCode("x", texts={"definition": "Title\n---\nmore\n\n===\n- - -"})
    shown = as_markdown(codebook.blocks("t", "", [lines])).splitlines()
    assert not any(re.fullmatch(r"[-=]+\\?", line) for line in shown)


def test_a_codebook_for_some_sentences_keeps_examples_and_counter_examples_apart() -> None:
    ids = made().ids.tolist()
    whole = CodebookEntry("What", examples=tuple(ids[:2]), counter_examples=tuple(ids[2:4]))
    p = written(made(), 2, whole)
    p = apply(p, book.record_version(p, "a", "First").change_set)
    p = written(p, 3, CodebookEntry(examples=(ids[0],)))
    part = replace(p, entries=codebook.entries_with(p, ids[1:3]))
    left = CodebookEntry("What", examples=(ids[1],), counter_examples=(ids[2],))
    assert entry_of(part, 2) == left and not entry_of(part, 3)
    (version,) = codebook.versions(part)
    assert version.name == "First" and {c.cluster.number: c.entry for c in version.codes}[2] == left
    assert [code.cluster for code in version.codes] == [code.cluster for code in codes(p)]


@given(entry_strategy, entry_strategy)
def test_versions_keep_a_state_and_give_it_back(first: CodebookEntry, second: CodebookEntry) -> None:
    p = written(made(), 2, first)
    p = apply(p, book.record_version(p, "a", "First").change_set)
    (version,) = codebook.versions(p)
    assert list(version.codes) == codes(p) and not codebook.differences(version.codes, codes(p))
    later = apply(written(p, 2, second), op.delete(p, 3).change_set)
    found = codebook.differences(version.codes, codes(later))
    assert [one.kind for one in found] == [*(["changed"] if first != second else []), "removed"]
    back = apply(later, book.restore_version(later, version).change_set)
    assert entry_of(back, 2) == first


def test_a_version_has_a_name_of_its_own() -> None:
    p = made()
    p = apply(p, book.record_version(p, "a", "First").change_set)
    for name in ("", "First", "x" * 121):
        with pytest.raises(DataError):
            book.record_version(p, "b", name)
    p = apply(p, op.rename(p, 1, "History").change_set)
    p = apply(p, book.record_version(p, "b", "Second").change_set)
    first, second = codebook.versions(p)
    assert (first.number, second.number) == (1, 2)
    assert [one.kind for one in codebook.differences(first.codes, second.codes)] == ["renamed"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_pieces_of_a_difference_give_both_texts(old: str, new: str) -> None:
    pieces = codebook.word_difference(old, new)
    assert "".join(piece.text for piece in pieces if piece.state != "new") == old
    assert "".join(piece.text for piece in pieces if piece.state != "old") == new


def test_a_file_of_codes_creates_clusters_and_replaces_texts() -> None:
    p = written(made(), 3, CodebookEntry("old", notes="kept only here"))
    listed = [
        PortableCode("Loans", "Money", 5, {"definition": "borrowed"}),
        PortableCode("Money", "", None, {"definition": "new"}, examples=("there", "not there")),
        PortableCode("Loans", "Elsewhere"),
    ]
    done = book.adopt(p, listed, {"there": 14}.get, 4)
    after = apply(p, done.operation.change_set)
    assert (done.created, done.changed, done.missing) == (2, 2, 1)
    assert after.clusters[4] == Cluster(4, "Loans", 5, 3)
    assert after.clusters[5].name == "Loans (2)" and after.clusters[5].parent is None
    assert entry_of(after, 3) == CodebookEntry("new", examples=(14,))
    again = book.adopt(after, listed, {"there": 14}.get, 6)
    assert not again.operation.change_set
    with pytest.raises(DataError):
        book.adopt(p, [], {}.get, 4)


def test_the_share_of_right_answers_has_an_interval() -> None:
    assert share_right([]) is None
    found = share_right([True] * 8 + [False] * 2)
    assert found is not None and (found.value, found.n) == (0.8, 10)
    # Wilson's interval of 8 of 10, computed by hand: (0.8 + z²/20 ± z√(0.016 + z²/400)) / (1 + z²/10), z = 1.96.
    assert (found.low, found.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))


def test_every_colour_comes_back_from_its_code() -> None:
    assert [codebook.nearest_colour(codebook.hex_colour(place)) for place in range(COLOURS)] == list(range(COLOURS))
    assert codebook.nearest_colour("red") is None and codebook.nearest_colour("#fff") is not None


def test_the_place_of_a_reference_is_found_in_linear_time() -> None:
    # 2 MB took minutes: the last place was searched from every bracket.
    for text in ("(, sentence 1 " * 150_000, " (a" * 700_000, ", sentence 1" * 170_000):
        assert codebook.text_of(text) == text
        assert codebook.text_of(codebook.reference(text, "b", 1)) == codebook.one_line(text)


@settings(max_examples=30)
@given(st.text(max_size=20), st.text(max_size=20))
def test_a_reference_holds_the_text(text: str, title: str) -> None:
    bare = codebook.reference(text, "", 3).removesuffix(" (, sentence 3)")
    assert codebook.text_of(codebook.reference(text, title, 3)).startswith(bare)


def test_codes_that_look_like_a_cluster_are_taken_for_it() -> None:
    p = start([10], None, [Cluster(1, "Weather", 0)])
    rain = PortableCode("WEATHER", texts={"definition": "rain"})
    listed = [rain, PortableCode("weather\u200b"), PortableCode("x", "weather")]
    done = book.adopt(p, listed, {}.get, 2)
    assert (done.created, done.changed, done.numbers) == (2, 1, {0: 1, 1: 2, 2: 3})
    after = apply(p, done.operation.change_set)
    assert {c.name: c.parent for c in after.clusters.values()} == {"Weather": None, "weather (2)": None, "x": 1}
