"""Small parts of pages: names, text, uploads, forms, colours, the start."""

import io
import json
import math
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event
from streamlit import runtime
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.testing.v1 import AppTest, local_script_runner

from tests.pages import PATIENCE_S
from tests.webapp.hands import Open
from themescope.core.metrics.statistics import crosstab
from themescope.core.tasks.topics import TopicSettings
from themescope.db.settings import is_loopback
from themescope.db.store import Store
from themescope.jobs.common import files as uploads
from themescope.jobs.services.people import LONGEST_NAME, tidy
from themescope.webapp import start
from themescope.webapp.shared import by_column, components, forms, people, queries, text
from themescope.webapp.shared.figures import THEMES, IntervalRow, interval_figure


@given(st.text(st.characters(exclude_characters="\u2060"), max_size=60))
def test_plain_text_leaves_nothing_for_markdown(written: str) -> None:
    shown = text.plain(written)
    assert not re.search(r"(?<!\\)[*_`\[\]<>$~#|!{}]", shown.replace("\\\\", ""))
    back = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown).replace("\u2060", "")
    assert back == " ".join(written.split())


@pytest.mark.parametrize("code", [":smile:", ":material/home:", "http://x.org", "www.x.org", "a@b.org", "->", ">="])
def test_codes_that_the_browser_rewrites_are_broken_up(code: str) -> None:
    assert code not in text.plain(code).replace("\\", "")


@pytest.mark.parametrize(
    ("names", "said"), [([], ""), (["a"], "a"), (list("abc"), "a, b, c"), (list("abcde"), "a, b, c and 2 more")]
)
def test_long_lists_of_names_are_counted(names: list[str], said: str) -> None:
    assert text.some_of(names) == said


@pytest.mark.parametrize(
    ("value", "format", "said"),
    [
        (12_345, "", "12,345"), (np.int64(7), "localized", "7"), (0.123456, "", "0.1235"), (True, "", "yes"),
        (0.5, "percent", "50.0%"), (0.12345, "%.2f", "0.12"), (40.0, "%d %%", "40 %"), (None, "%.2f", ""),
        (math.nan, "percent", ""), (pd.NaT, "", ""), (pd.NA, "", ""),
        (date(2026, 11, 27), "", "2026-11-27"), ("%s", "", "%s"),
    ],
)  # fmt: skip
def test_cards_show_values_as_cells_do(value: object, format: str, said: str) -> None:
    assert components.cell_text(value, format) == said


def test_tables_are_cards_too_and_the_same_table_twice_is_no_error() -> None:
    def page() -> None:
        import pandas as pd

        from themescope.webapp.shared.components import clickable_table, draw_table

        for _ in range(2):
            draw_table({"Name": ["Ada", None], "Labels": [1_200, 3]})
        coloured = pd.DataFrame({"Project": ["A"], "Score": [0.5]}).style.map(lambda _: "color: red")
        clickable_table(coloured, "projects", lambda row: None)

    at = AppTest.from_function(page, default_timeout=PATIENCE_S).run()
    assert not at.exception and len(at.dataframe) == 3
    first, clickable = (json.loads(one.proto.json) for one in at.get("bidi_component"))
    assert first == {
        "columns": ["Name", "Labels"], "rows": [["Ada", "1,200"], ["", "3"]], "total": 2, "clickable": False,
    }  # fmt: skip
    assert clickable["clickable"] and clickable["rows"] == [["A", "0.5"]]


def test_a_download_made_on_click_survives_the_script_runs_of_other_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    manager, made = media(monkeypatch)
    components.download("CSV", lambda: "a,b", "table.csv")
    components.download("ZIP", lambda: b"zip", "bundle.zip")
    kinds = [("text/csv", "0.1", "table.csv"), ("application/zip", "0.2", "bundle.zip")]
    buttons = [manager.add_deferred(data, *kind) for data, kind in zip(made, kinds, strict=True)]
    files = [PurePath(manager.execute_deferred(button)).stem for button in buttons]
    for _ in range(5):
        manager.remove_orphaned_files()  # as at the end of every script run
    found = [manager.read_file(file) for file in files]
    assert [file and file.content for file in found] == [b"a,b", b"zip"]


def media(monkeypatch: pytest.MonkeyPatch) -> tuple[MediaFileManager, list[Callable[[], bytes]]]:
    """What keeps the files of downloads, and what makes those of the buttons that are drawn from now on."""
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(media_file_mgr=manager))
    made: list[Callable[[], bytes]] = []
    monkeypatch.setattr(components.st, "download_button", lambda label, data, **options: made.append(data))
    return manager, made


def test_the_files_that_are_kept_for_downloads_are_limited_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    manager, made = media(monkeypatch)
    monkeypatch.setattr(components, "_KEPT_BYTES", 10)
    monkeypatch.setattr(components, "_kept_downloads", {})
    for size in (4, 6, 7, 20, 3):
        components.download("CSV", lambda size=size: "x" * size, "table.csv")  # type: ignore[misc]
        made[-1]()
        for _ in range(2):
            manager.remove_orphaned_files()
    assert sum(len(file.content) for file in manager._storage._files_by_id.values()) == 3  # type: ignore[attr-defined]


@given(st.text(max_size=60))
def test_names_of_uploads_are_no_paths(name: str) -> None:
    safe = uploads.safe_name(name)
    root = Path("root").absolute()
    assert (root / safe).resolve().parent == root.resolve()
    assert not set(safe) & set('/\\:*?"<>|\0')
    assert not safe.startswith(".")


@pytest.mark.parametrize(
    ("name", "safe"),
    [("foo/../../etc/passwd", "passwd"), ("\\\\?\\C:\\evil.txt", "evil.txt"), ("con.txt", "_con.txt"), ("..", "_")],
)
def test_payload_names(name: str, safe: str) -> None:
    assert uploads.safe_name(name) == safe


def upload(name: str, content: bytes) -> Any:
    file = io.BytesIO(content)
    file.name = name  # type: ignore[attr-defined]
    return file


def test_uploads_with_one_name_are_all_kept_until_they_are_old(tmp_path: Path) -> None:
    paths = forms.keep([upload("a/x.txt", b"1"), upload("b/x.txt", b"2")], tmp_path)
    assert all(tmp_path / "uploads" in p.parents for p in paths)
    uploads.remove_old(tmp_path / "uploads")
    assert [p.read_bytes() for p in paths] == [b"1", b"2"]
    uploads.remove_old(tmp_path / "uploads", now=paths[0].stat().st_mtime + 8 * 86_400)
    assert not any(p.exists() for p in paths)


def test_a_wrong_config_is_none_not_a_crash() -> None:
    assert forms.checked(TopicSettings, {"share": 2.0}) is None
    assert forms.checked(TopicSettings, {"share": 0.5}) == TopicSettings(share=0.5)


def test_lines_over_time_that_share_a_colour_have_other_strokes() -> None:
    names, periods = [f"theme {i}" for i in range(12)], ["2024", "2025"]
    found = crosstab(np.repeat(np.arange(12), 2), np.tile([0, 1], 12), (12, 2))
    drawn = by_column.shares_figure(found, names, periods, range(12), THEMES["light"])
    assert len({(trace.line.color, trace.line.dash) for trace in drawn.data}) == 12


def test_intervals_are_drawn_best_first_with_the_floor_apart() -> None:
    rows = [IntervalRow("b", 0.2, 0.1, 0.4, 2), IntervalRow("a", 0.3, 0.2, 0.35, 0)]
    floor = replace(rows[0], label="<b>random</b>", value=0.0, low=0.0, high=0.0, colour=-1)
    shades = THEMES["light"]
    figure = interval_figure([*rows, floor], "AMI", shades, chance=0.5)
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;random&lt;/b&gt;", "b", "a"]
    assert [trace.marker.color for trace in figure.data] == [shades.other, shades.colour(2), shades.colour(0)]
    written = [note.text for note in figure.layout.annotations]
    assert written == [".000 [.000, .000]", ".200 [.100, .400]", ".300 [.200, .350]", "chance"]
    given = interval_figure([rows[0], replace(rows[1], low=None, high=None), rows[0]], "AMI", shades, sort=False)
    assert list(given.layout.yaxis.ticktext) == ["b", "a", "b"]
    assert sorted(place for trace in given.data for place in trace.y) == [0, 1, 2]
    assert given.layout.annotations[1].text == ".300"


def test_a_long_table_has_a_search() -> None:
    def page(n: int) -> None:
        import pandas as pd

        from themescope.webapp.shared.choose import clickable

        names = [f"model {i}" for i in range(n)]
        frame = pd.DataFrame({"Name": names, "Kind": ["net", "mean"] * (n // 2), "Triplets": [7, None] * (n // 2)})
        frame["Accuracy"], frame["Set"] = None, ["one", None] * (n // 2)
        clickable(names, "one", str, frame, {})

    assert not AppTest.from_function(page, args=(12,), default_timeout=PATIENCE_S).run().text_input
    at = AppTest.from_function(page, args=(14,), default_timeout=PATIENCE_S).run()
    at.text_input[0].set_value("NET 1").run()
    assert at.dataframe[0].value["Name"].tolist() == ["model 10", "model 12"]
    for word in ("nothing", "none", "nan"):  # a cell without a value holds no word
        at.text_input[0].set_value(word).run()
        assert not at.exception and not len(at.dataframe[0].value)


def test_what_only_this_machine_reaches_is_told_from_what_others_reach() -> None:
    assert all(is_loopback(address) for address in ("127.0.0.1", "localhost", "::1", "127.0.0.9"))
    assert not any(is_loopback(address) for address in ("0.0.0.0", "192.168.1.5", "::", "example.org"))


def test_the_next_free_port_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert start.free_port("127.0.0.1", port) > port


def test_the_training_of_a_model_is_found_after_many_jobs(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "store", lambda: sqlite_store)
    with sqlite_store.writing() as w:
        ids = [w.jobs.add("train" if n == 0 else "other", "", {}).id for n in range(502)]
        values = {"status": "done", "result": {"model_id": 7}}
        w.jobs.connection.execute(w.jobs.table.update().values(**values))
    found = queries.training_of(7)
    assert found is not None and found.id == ids[0]
    assert queries.training_of(8) is None


def test_changes_are_noticed_without_reading_the_records(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "store", lambda: sqlite_store)
    statements: list[str] = []
    seen = [queries.fingerprint()]
    with sqlite_store.writing() as w:
        first = w.corpora.create("a", "en").id
    assert queries.fingerprint() == seen[-1]  # it is not ready
    for change in (
        lambda w: w.corpora.finish(first, {}),
        lambda w: w.corpora.finish(w.corpora.create("b", "en").id, {}),
        lambda w: w.corpora.delete(first),
    ):
        with sqlite_store.writing() as w:
            change(w)
        with sqlite_store.reading() as r:
            event.listen(r.corpora.connection.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
        seen.append(queries.fingerprint())
    assert len({*seen}) == 4
    assert all("count(*)" in one for one in statements if one.startswith("SELECT"))


JSON = st.recursive(
    st.none() | st.integers(-9, 9) | st.sampled_from(["", "a", "b"]),
    lambda part: st.lists(part, max_size=5) | st.dictionaries(st.sampled_from(["a", "b", "1", "2"]), part, max_size=4),
)


def test_changes_make_one_value_of_another(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    pairs: list[tuple[object, object]] = []

    @settings(database=None, max_examples=300)
    @given(JSON, JSON)
    def collect(old: object, new: object) -> None:
        pairs.append((old, new))

    collect()
    script = (components.ASSETS / "actions.js").read_text(encoding="utf-8")
    cases = [{"old": old, "change": components.changes(old, new)} for old, new in pairs]
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    made = f"""globalThis.window = {{ addEventListener() {{}} }};
    {script}
    const cases = JSON.parse(require("node:fs").readFileSync("cases.json", "utf8"));
    console.log(JSON.stringify(cases.map(({{ old, change }}) => merged(old, change))));"""
    done = subprocess.run(["node", "-e", made], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [new for _, new in pairs]


def test_a_part_that_is_asked_for_at_another_page_brings_the_whole_page(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_page("jobs")
    (title,) = at.title
    for page, titles in ((at._finished_page_script_hash, []), ("one before", [title.value])):
        part = next(iter(at._fragment_storage._fragments))
        asked = partial(RerunData, fragment_id=part)
        monkeypatch.setattr(
            local_script_runner,
            "RerunData",
            lambda asked=asked, page=page, **given: asked(**given | {"page_script_hash": page}),
        )
        assert [one.value for one in at.run().title] == titles and not at.exception


def test_a_part_that_is_asked_for_does_not_take_back_a_page_that_is_to_come() -> None:
    requests = ScriptRequests()
    for asked in (
        RerunData("to=come", page_script_hash="to come"),
        RerunData("here", None, "here", fragment_id="part"),
    ):
        assert requests.request_rerun(asked)
    run = requests.on_scriptrunner_ready().rerun_data
    assert (run.page_script_hash, run.query_string, run.fragment_id_queue) == ("to come", "to=come", [])


def test_a_part_that_somebody_asks_for_is_sent_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser may have dropped meanwhile what it kept when it asked."""
    sent: list[ForwardMsg] = []
    monkeypatch.setattr(ForwardMsgQueue, "_before_enqueue_msg", sent.append)
    at = AppTest.from_string(
        """
import streamlit as st

st.fragment(lambda: st.text("long " * 4_000))()
""",
        default_timeout=PATIENCE_S,
    ).run()
    kept = frozenset(message.hash for message in sent)
    (part,) = at._fragment_storage._fragments
    for auto in (True, False):
        asked = partial(RerunData, fragment_id=part, is_auto_rerun=auto, cached_message_hashes=kept)
        monkeypatch.setattr(local_script_runner, "RerunData", lambda asked=asked, **given: asked(**given))
        sent.clear()
        at.run()
        assert any(message.ref_hash for message in sent) == auto


def test_what_a_part_has_drawn_is_sent_before_it_is_drawn_again() -> None:
    """The end of a run alone would let the browser remove the part."""
    queue, sent = ForwardMsgQueue(), []
    for run in range(2):
        queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["part"] if run else None)
        for message in (ForwardMsg(), ForwardMsg(), ForwardMsg()):
            sent.append(message)
        sent[-3].new_session.name = sent[-2].delta.new_element.text.body = f"run {run}"
        sent[-2].delta.fragment_id, sent[-2].metadata.delta_path[:] = "part", [0, 0]
        sent[-1].script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
        for message in sent[-3:]:
            queue.enqueue(message)
    assert queue.flush() == sent


@given(st.text())
def test_a_name_is_one_printable_line(name: str) -> None:
    tidied = tidy(name)
    assert tidied.isprintable()
    assert len(tidied) <= LONGEST_NAME
    assert tidy(tidied) == tidied


def test_without_a_name_a_person_is_me() -> None:
    assert people.shown("") == "me"
    assert people.shown("A*da") == r"A\*da"
