"""Code page: what is new in a wave is created, confirmed or dismissed by a key; sure predictions become labels."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.homes import CopyHome, MakeHome
from tests.jobs.test_kinds import do
from tests.jobs.test_placed_waves import NEW, THEMES, fill_with_wave, listed, sentences, wave_of, write
from tests.webapp.hands import press, words_of
from tests.webapp.test_unit import Surface
from themescope.core.labelling.partition import UNASSIGNED
from themescope.db.store import Store
from themescope.jobs.common.labelled import judged_sentences
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.coding.rest import ACCEPT_KEY, CONFIRM_KEY, DISMISS_KEY

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")

    def fill(store: Store) -> None:
        fill_with_wave(store, folder)
        do(store, "place-wave", corpus="C")

    return make_home(fill)


def opened(store: Store) -> LabellingSession:
    with store.reading() as r:
        (record,) = r.labellings.list()
    return LabellingSession(store, record.id, "")


def judged(store: Store, session: LabellingSession) -> set[int]:
    with store.reading() as r:
        return set(judged_sentences(r, session.record, session.partition).tolist())


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_new_theme_becomes_a_cluster_by_a_key(
    copy_home: CopyHome, home: Path, open_page: Open, confirmed: bool
) -> None:
    store = copy_home(home)
    old = opened(store)
    at = open_page("code", view="Label the rest", labelling="mine")
    assert not at.exception and "50 units without a code" in words_of(at)
    label, key = ("Make and confirm", CONFIRM_KEY) if confirmed else ("Make it a code", ACCEPT_KEY)
    button = next(one for one in at.button if one.label == label)
    assert button.proto.shortcut.lower() == key.lower()
    at = press(at, label)
    assert not at.exception and "Possible new theme" not in words_of(at)
    session = opened(store)
    (new,) = set(session.partition.clusters) - set(old.partition.clusters)
    members = session.partition.members(new)
    assert any(word in session.partition.clusters[new].name.lower() for word in NEW)
    assert (set(members.tolist()) <= judged(store, session)) is confirmed
    assert np.array_equal(session.partition.only(old.partition.ids).numbers, old.partition.numbers)
    session.undo()
    assert new not in session.partition.clusters and len(session.partition.ids) == 230
    session.undo()
    assert session.partition.to_bytes() == old.partition.to_bytes()


def test_themes_say_what_they_leave_out(copy_home: CopyHome, home: Path, open_page: Open) -> None:
    store = copy_home(home)
    at = open_page("themes", corpus="C")
    assert not at.exception and "Continues an earlier result by “spring”" in words_of(at)
    listed(store, "append-corpus", write(home.parent / "third.csv", sentences(NEW, 4, 3)), wave="autumn")
    at = open_page("themes", corpus="C")
    assert not at.exception and "4 sentences of “autumn” are not in this result" in words_of(at)


def test_a_dismissed_theme_comes_back_only_by_undo(copy_home: CopyHome, home: Path, open_page: Open) -> None:
    store = copy_home(home)
    at = open_page("code", view="Label the rest", labelling="mine")
    assert next(one for one in at.button if one.label == "Dismiss").proto.shortcut.lower() == DISMISS_KEY.lower()
    at = press(at, "Dismiss")
    assert not at.exception and "Possible new theme" not in words_of(at)
    assert len(opened(store).partition.clusters) == len(THEMES)
    opened(store).undo()
    at = open_page("code", view="Label the rest", labelling="mine")
    assert not at.exception and "Possible new theme" in words_of(at)


def test_sure_predictions_become_labels_of_a_machine_in_one_step(
    copy_home: CopyHome, home: Path, open_page: Open
) -> None:
    store = copy_home(home)
    at = open_page("code", view="Label the rest", labelling="mine")
    button = next(one for one in at.button if one.label.endswith("at least so sure"))
    at = button.click().run()
    assert not at.exception
    session = opened(store)
    wave = session.partition.rows(wave_of(store))
    placed = session.partition.ids[wave][session.partition.numbers[wave] != UNASSIGNED]
    assert button.label == f"Assign the {len(placed)} units that are at least so sure" and len(placed) > 5
    assert not set(placed.tolist()) & judged(store, session)
    assert f"{50 - len(placed)} units without a code" in words_of(at)


def test_units_of_a_wave_are_checked_one_by_one(copy_home: CopyHome, home: Path, open_page: Open) -> None:
    store = copy_home(home)
    session = opened(store)
    session.extend()
    at = open_page("code", view="Label the rest", labelling="mine")
    at = press(at, "Check them")
    assert not at.exception
    record = session.record
    shown = Surface(at.session_state[f"code_state_{record.id}"], at.session_state[f"code_unit_{record.id}"])
    assert shown.data["total"] == 50 and set(shown.queue.ids.tolist()) == set(wave_of(store).tolist())
    assert shown.unit["suggested"]["cluster"] in session.partition.clusters
