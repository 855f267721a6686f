"""The document of a labelling."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.labelling.test_labelling import IDS, Choose, LabellingSession, intentions, made
from themescope.core.errors import ReadError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, EntryChange, Kind, Step
from themescope.core.labelling.partition import Cluster, Entry, EntryKind, start
from themescope.jobs.bundles.labellings import LabellingDocument, SentencePlace, from_lines, moved, to_lines

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ABOUT = {"name": "a", "owner": "ada", "kind": "own", "blind": False, "origin": {"from": "nothing"}, "corpus": "c"}
LEFT_OUT = object()
STRANGE = [None, -7, 2**70, 1.5, float("inf"), "x", "2020-01-01T00:00:00", [], {}, [1], [None, None], LEFT_OUT]
FREE = {("about", "corpus"), ("about", "origin", "from")}
"""What nobody relies on."""


def document() -> LabellingDocument:
    first = start([3, 5, 7], [0, 1, -1], [Cluster(0, "A", 0), Cluster(1, "B", 1, 0)])
    first = replace(first, entries={(EntryKind.CODE, "1"): Entry({"definition": "x"}, (3,), (1,))})
    change_sets = [op.assign(first, np.array([7]), 1).change_set, op.note(first, np.array([3]), "why").change_set]
    change_sets += [op.mark(first, np.array([5]), True).change_set, op.create(first, 2, "C", np.array([3])).change_set]
    old = first.entries[EntryKind.CODE, "1"]
    change_sets.insert(2, ChangeSet((EntryChange(EntryKind.CODE, "1", old, replace(old, sentences=(5, 7))),)))
    log: list[tuple[Step, ChangeSet]] = []
    for id, change_set in enumerate(change_sets, 1):
        log.append((Step(id, Kind.DO, "x", "said", "ada", NOW, None, "", "", 1), change_set))
    log.append((Step(9, Kind.UNDO, "x", "said", "ben", NOW, 5, "", "", 1), change_sets[-1].inverse()))
    places = {id: SentencePlace("article", id, f"text {id}") for id in (3, 5, 7)}
    return LabellingDocument(ABOUT, first, tuple(log), places)


def walk(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from walk(value[key], (*path, key))


def put(entry: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(entry)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if value is LEFT_OUT:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


def test_it_comes_back() -> None:
    lines = list(to_lines(document()))
    assert list(to_lines(from_lines(lines))) == lines


@pytest.mark.parametrize("number", range(13))
def test_what_was_put_there_by_another_hand_is_refused(number: int) -> None:
    lines = list(to_lines(document()))
    assert len(lines) == 13
    entry, refused = json.loads(lines[number]), 0
    for path in walk(entry):
        for value in STRANGE if path else [x for x in STRANGE if x is not LEFT_OUT]:
            changed = put(entry, path, value)
            if changed == entry:
                continue
            try:
                found = from_lines([*lines[:number], json.dumps(changed) + "\n", *lines[number + 1 :]])
            except ReadError:
                refused += 1
                continue
            # Texts, numbers and times may be others; then all of it is a labelling that can be written and read.
            assert path in FREE or type(value) in (str, int) or value in ({}, []), (path, value)
            written = list(to_lines(found))
            assert list(to_lines(from_lines(written))) == written
    assert refused


def test_lines_that_no_labelling_has() -> None:
    lines = list(to_lines(document()))
    for damaged in (
        [lines[0], "[" * 100_000 + "\n", *lines[1:]],
        [*lines[:4], lines[3], *lines[4:]],
        [*lines[:5], lines[4], *lines[5:]],
        [*lines[:1], *lines[2:]],
        [*lines, lines[-1]],
        [*lines[:3], "{}\n", *lines[3:]],
        [*lines[:-1], lines[-1][:40]],
        lines[1:],
        lines[:-1],
        [],
    ):
        with pytest.raises(ReadError):
            from_lines(damaged)


def test_a_file_in_another_encoding_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"format": "themescope labelling", "\xff\xfe"}\n')
    with path.open(encoding="utf-8") as lines, pytest.raises(ReadError, match="not text in UTF-8"):
        from_lines(lines, path)


SHIFT = {int(id): 1_000 - int(id) for id in IDS}
BACK = {there: here for here, there in SHIFT.items()}


@settings(max_examples=60)
@given(st.lists(st.one_of(intentions, st.just("undo")), max_size=10))
def test_any_history_comes_back_from_a_file_and_from_another_store(actions: list[Choose | str]) -> None:
    labelling = LabellingSession(made())
    labelling.act(actions)
    places = {int(id): SentencePlace("article", int(id), f"text {id}") for id in IDS}
    log = tuple(zip(labelling.steps, labelling.change_sets, strict=True))
    document = LabellingDocument(ABOUT, made(), log, places)
    lines = list(to_lines(document))
    again = from_lines(lines)
    assert list(to_lines(again)) == lines
    assert again.end().to_bytes() == labelling.state.to_bytes()
    elsewhere = moved(again, SHIFT)  # the same sentences in another store, in the opposite order
    assert moved(elsewhere, BACK).end().to_bytes() == labelling.state.to_bytes()
