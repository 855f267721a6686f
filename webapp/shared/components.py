"""Components of pages: drawn from assets, tables and charts with clicks, downloads, and errors of calls."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from numbers import Integral, Real
from pathlib import Path, PurePath
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import uuid4

import numpy as np
import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit import runtime
from streamlit.errors import StreamlitDuplicateElementKey
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.state.session_state import Serialized, Value, WStates

from themescope.core.errors import ThemescopeError
from themescope.webapp.shared.text import plain

T = TypeVar("T")
_LOG = logging.getLogger(__name__)

_MIME = {
    ".bib": "text/plain",
    ".csv": "text/csv",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".gz": "application/gzip",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".qdc": "application/xml",
    ".qdpx": "application/zip",
    ".svg": "image/svg+xml",
    ".tex": "text/plain",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".zip": "application/zip",
}
_KEPT_DOWNLOADS, _KEPT_BYTES, _KEPT_SENT = 16, 64_000_000, 4
WEBAPP = Path(__file__).parents[1]
MODULES = "/static/themescope/"
"""Start of the addresses of modules: the browser keeps them, where Streamlit would send them along with all data."""
_LOAD = """
const { default: draw, moduleStyles } = await import(new URL("ADDRESS", location.origin));
const sheet = new CSSStyleSheet();
sheet.replaceSync(moduleStyles);
export default (given) => {
  const root = given.parentElement.getRootNode();
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  return draw(given);
};
"""
_NO_CONFIG: Mapping[str, Any] = {}
_CARDS, _CARDS_KEY = 100, "table-cards"
"""Most rows that are shown as cards, and the beginning of the keys of the component."""
ASSETS = Path(__file__).parent / "assets"
"""Folder of the scripts, styles and templates that pages share."""
_download_numbers = count()
_kept_downloads: dict[str, int] = {}
"""Name → bytes of the files that are kept, the oldest first."""
_KEEPING = Lock()


@lru_cache(256)
def asset(folder: Path, *names: str) -> str:
    """Return the concatenated text of some files of a folder; those that it lacks are files that pages share."""
    paths = [folder / name if (folder / name).exists() else ASSETS / name for name in names]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def draw_component(name: str, folder: Path = ASSETS, *scripts: str, **call: Any) -> None:
    """Draw a component in a ``div`` whose class is ``name``.

    Its files in ``folder``, by default that of the files that pages share, are ``<name>.css`` and ``<name>.js``, which
    may use ``elements.js`` and the other ``scripts``. Each of them may have styles of its own. ``call`` holds data, key
    and callbacks.
    """
    files = ("elements.js", *scripts, f"{name}.js")
    digest, _ = module(folder, *files)
    address = f"{MODULES}{digest}/{folder.relative_to(WEBAPP).as_posix()}/{'+'.join(files)}"
    html = f'<div class="{name}"></div>'
    draw = st.components.v2.component(f"themescope_{name}", html=html, js=_LOAD.replace("ADDRESS", address))
    draw(**call)


@lru_cache(64)  # whoever asks for a module may name files in any order
def module(folder: Path, *files: str) -> tuple[str, bytes]:
    """Return the module of a component, with its digest: scripts, and those styles that exist for them."""
    styles = [file.replace(".js", ".css") for file in files]
    css = asset(folder, *(style for style in styles if (folder / style).exists() or (ASSETS / style).exists()))
    text = f"{asset(folder, *files)}\nexport const moduleStyles = {json.dumps(css)};\n".encode()
    return hashlib.sha256(text).hexdigest()[:12], text


@dataclass
class Known:
    """What the browser has of the data of a component: it is sent what differs from that."""

    number: int = 0
    kept: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """What was sent, by number: from what the browser said that it has, or the last ones until it says so."""
    base: int = 0
    """Number of what the browser said that it has; 0 if it has nothing that is kept."""

    def note(self, number: object) -> None:
        """Note the number of what the browser says that it has."""
        self.base = number if isinstance(number, int) and number in self.kept else 0
        self.kept = {n: data for n, data in self.kept.items() if self.base and n >= self.base}

    def since(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what to send for ``data``, which is not changed afterwards."""
        self.number += 1
        sent = {"changes": changes(self.kept[self.base], data)} if self.base else {**data}
        self.kept[self.number] = data
        if len(self.kept) > _KEPT_SENT:
            del self.kept[min(set(self.kept) - {self.base})]
        return sent | {"number": self.number, "base": self.base}


def changes(old: Any, new: Any) -> Any:
    """Return how to make ``new`` of ``old``, both of JSON: another value in a list, or what differs in its parts."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        parts = {k: changes(old[k], v) if k in old else [v] for k, v in new.items() if k not in old or old[k] != v}
        return {"parts": parts, "gone": [key for key in old if key not in new]}
    if isinstance(old, list) and isinstance(new, list):
        if len(old) == len(new):
            return {"parts": {str(i): changes(old[i], new[i]) for i in range(len(new)) if old[i] != new[i]}}
        most = min(len(old), len(new))
        start = next((i for i in range(most) if old[i] != new[i]), most)
        end = next((i for i in range(most - start) if old[-1 - i] != new[-1 - i]), most - start)
        return {"at": start, "count": len(old) - start - end, "items": new[start : len(new) - end]}
    return [new]


def message(key: str, event: str) -> dict[str, Any]:
    """Return what a component has sent with an event, for callbacks; a message of another form is none."""
    found = (st.session_state.get(key) or {}).get(event)
    return found if isinstance(found, dict) else {}


Columns = Mapping[str, Any] | Sequence[Mapping[str, Any]] | pd.DataFrame | Styler
"""A table: values by the title of their column, or its rows."""


def draw_table(
    columns: Columns,
    *,
    column_config: Mapping[str, Any] = _NO_CONFIG,
    on_click: Callable[[int], None] | None = None,
    **options: Any,
) -> None:
    """Draw a table; whole numbers have thousands separators, and more than ten rows scroll.

    Phones show cards in its place, except for a single column. A click on a card calls ``on_click`` with the number of
    the row.
    """
    found = columns if isinstance(columns, Styler | pd.DataFrame) else pd.DataFrame(columns)
    frame: pd.DataFrame = found.data if isinstance(found, Styler) else found  # type: ignore[attr-defined]
    counted = st.column_config.NumberColumn(format="localized")
    config: dict[str, Any] = {str(name): counted for name, kind in frame.dtypes.items() if kind.kind in "iu"}
    config |= column_config
    st.dataframe(found, hide_index=True, column_config=config, **options)
    if len(frame.columns) < 2:
        return
    known = [config.get(str(name)) or {} for name in frame.columns]
    formats = [(one.get("type_config") or {}).get("format") or "" for one in known]
    rows = [[*map(cell_text, row, formats)] for row in frame.head(_CARDS).itertuples(index=False)]
    names = [one.get("label") or str(name) for one, name in zip(known, frame.columns, strict=True)]
    data = {"columns": names, "rows": rows, "total": len(frame), "clickable": on_click is not None}
    widget = f"{_CARDS_KEY}-{options.get('key') or hash((*names, *map(tuple, rows)))}"
    call: dict[str, Any] = {"data": data, "key": widget}

    def choose() -> None:
        row = message(widget, "row").get("row")
        if on_click is not None and isinstance(row, int) and 0 <= row < len(frame):
            on_click(row)

    if on_click is not None:
        call["on_row_change"] = choose
    with suppress(StreamlitDuplicateElementKey):  # the same table twice: phones show the second one as it is
        draw_component("table_cards", **call)


def cell_text(value: Any, format: str) -> str:
    """Return a value of a table as its cell shows it; "" for a missing one."""
    if value is None or value is pd.NA or value != value:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if format == "percent":
        return f"{value:.1%}"
    if "%" in format:
        return format % value
    if isinstance(value, Integral):
        return f"{int(value):,}"
    return f"{value:,.4g}" if isinstance(value, Real) else str(value)


def clickable_table(columns: Columns, key: str, on_click: Callable[[int], None], **options: Any) -> None:
    """Draw a table; a click calls ``on_click`` with the number of the row, in a callback."""

    def choose() -> None:
        cells = st.session_state[key]["selection"]["cells"]
        if cells and isinstance(row := cells[0][0], int) and row >= 0:
            on_click(row)

    draw_table(columns, on_click=on_click, key=key, on_select=choose, selection_mode="single-cell", **options)


def attempt(call: Callable[[], T]) -> T | None:
    """Return the result of a call; None, with the error on the page, if it fails."""
    try:
        return call()
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
        return None


def toast_error(change: Callable[[], object]) -> None:
    """Call ``change`` in a callback; show its error as a toast."""
    succeeds(change)


def succeeds(change: Callable[[], object]) -> bool:
    """Call ``change``, also in a callback; show its error as a toast, and return whether there was none."""
    try:
        change()
    except ThemescopeError as error:
        st.toast(plain(error), icon=":material/error:", duration="long")
        return False
    return True


_TYPED = "confirm_typed"
_CONFIRMED = "confirmed"


def confirm(
    title: str,
    about: str,
    label: str,
    change: Callable[[], bool],
    icon: str = ":material/delete:",
    typed: str = "",
    field: Callable[[], object] | None = None,
) -> None:
    """Ask in a dialog whether to make a change; call it in the run in which the button for that was clicked.

    ``change`` is called in a callback. It returns whether it was made, which closes the dialog. Where ``typed`` is
    given, a person has to type it first. ``field`` draws what else is asked.
    """
    st.session_state.pop(_CONFIRMED, None)

    def named() -> bool:
        return " ".join(str(st.session_state.get(_TYPED, "")).split()) == " ".join(typed.split())

    def act() -> None:
        st.session_state[_CONFIRMED] = (not typed or named()) and change()

    def ask() -> None:
        if st.session_state.pop(_CONFIRMED, False):
            st.rerun()
        st.markdown(about)
        if field is not None:
            field()
        if typed and st.text_input("Type the name to confirm", key=_TYPED) and not named():
            st.error("This is another name.", icon=":material/error:")
        st.button(label, type="primary", icon=icon, on_click=act)

    st.dialog(title)(ask)()


def download(label: str, data: Callable[[], str | bytes], file: str, **options: Any) -> None:
    """Draw a button that downloads ``file``, made when the button is clicked; its suffix decides the media type."""
    options = {"icon": ":material/download:", **options}
    mime = _MIME[PurePath(file).suffix]

    def make() -> bytes:
        made = data()
        content = made.encode() if isinstance(made, str) else made
        _keep_download(content, mime, file)
        return content

    st.download_button(label, data=make, file_name=file, mime=mime, on_click="ignore", **options)


def _keep_download(content: bytes, mime: str, file: str) -> None:
    """Keep the last :data:`_KEPT_DOWNLOADS` files on the server, or the last one and others of :data:`_KEPT_BYTES`.

    Streamlit 1.67 deletes a file made on click when any two script runs have ended, of whichever session. With several
    open pages, which refresh by themselves, that is often before the browser has requested the file. A file that is
    registered under a name stays until another one takes the name.
    """
    files = runtime.get_instance().media_file_mgr
    with _KEEPING:
        name = f"download-{next(_download_numbers) % _KEPT_DOWNLOADS}"
        _kept_downloads.pop(name, None)
        while _kept_downloads and sum(_kept_downloads.values()) + len(content) > _KEPT_BYTES:
            oldest = next(iter(_kept_downloads))
            del _kept_downloads[oldest]
            files.add(b"", mime, oldest)
        _kept_downloads[name] = len(content)
        files.add(content, mime, name, file_name=file, is_for_static_download=True)


# --- forged values ---------------------------------------------------------------------------------------------------


_read_value = WStates.__getitem__


def _genuine_value(states: WStates, key: str) -> Any:
    """Return the value of a widget; what its part of a page cannot have sent counts as none, with a line in the log.

    Streamlit passes on values of another kind, and fails at those that it cannot read, in this and all later runs.
    """
    held, widget = states.states.get(key), states.widget_metadata.get(key)
    if not isinstance(held, Serialized) or widget is None:
        return _read_value(states, key)
    try:
        kind = held.value.WhichOneof("value")
        whole = kind == "int_value" and widget.value_type == "double_value"  # as fields of whole numbers send it
        if not whole and kind not in (None, widget.value_type):
            raise TypeError
        if kind == "json_value" and not isinstance(json.loads(held.value.json_value), dict):  # of components, all ours
            raise TypeError
        value = _read_value(states, key)
        if not isinstance(value, float) or math.isfinite(value):
            return value
    except Exception:  # of whatever kind: the value comes from outside
        pass
    _LOG.warning("A browser sent a value of another kind for a widget (%s); it is ignored.", widget.value_type)
    states.states[key] = Value(widget.deserializer(None))
    return _read_value(states, key)


WStates.__getitem__ = _genuine_value  # type: ignore[method-assign]


# --- runs of parts of a page ------------------------------------------------------------------------------------------


_ask, _run, _clear = ScriptRequests._request_rerun_locked, ScriptRunner._run_script, ForwardMsgQueue.clear


def _ask_for_page_to_come(requests: ScriptRequests, asked: RerunData) -> bool:
    """Open the page that is to come; Streamlit 1.67 would go back to the one of the part."""
    to_come = requests._rerun_data
    if asked.fragment_id and requests._state is ScriptRequestType.RERUN and not to_come.fragment_id_queue:
        page, name, query = to_come.page_script_hash, to_come.page_name, to_come.query_string
        asked = replace(asked, page_script_hash=page, page_name=name, query_string=query)
    return _ask(requests, asked)


def _run_of_drawn_page(runner: ScriptRunner, asked: RerunData) -> None:
    """Run the whole page in place of a part that the browser takes for one of another page.

    While a browser has not heard yet that ``st.switch_page`` opened another page, it asks for parts of the one before.
    Streamlit 1.67 would answer for that page, and the browser then removes all that it shows of the new one.

    What somebody asks for is sent in full: of what the browser kept when it asked, it may have dropped some since, and
    it gives up the page if it is referred to that ("Cached ForwardMsg MISS").
    """
    drawn = runner._pages_manager.current_page_script_hash
    if asked.fragment_id_queue and not asked.is_auto_rerun:
        asked = replace(asked, cached_message_hashes=frozenset())
    if asked.fragment_id_queue and drawn != asked.page_script_hash:
        with runner._session_state.query_params() as address:
            query = urlencode(address._query_params, doseq=True)
        asked = replace(asked, fragment_id_queue=[], page_script_hash=drawn, query_string=query)
    _run(runner, asked)


def _clear_for_whole_page(
    queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
) -> None:
    """Send all that is still to be sent before the run of a part of a page.

    Streamlit 1.67 would leave out what the run before drew of the part, and yet say that it has ended: the browser then
    removes the part, with what somebody does in it, and makes it anew.
    """
    if fragment_ids_this_run:
        queue._delta_index_map = {}  # what comes later takes no place of what came before
    else:
        _clear(queue, retain_lifecycle_msgs)


ScriptRequests._request_rerun_locked = _ask_for_page_to_come  # type: ignore[assignment, method-assign]
ScriptRunner._run_script = _run_of_drawn_page  # type: ignore[assignment, method-assign]
ForwardMsgQueue.clear = _clear_for_whole_page  # type: ignore[assignment, method-assign]


# --- action keys ------------------------------------------------------------------------------------------------------


_WORDS = {
    "saving": "Saving …",
    "late": "Not saved yet: the server does not answer. Your keys are kept and sent again.",
    "lost": "The connection was lost. Check your last key, and press it again if its effect is missing.",
}


@dataclass
class Acknowledged:
    """What this session has handled of the actions of the browser."""

    session: str = field(default_factory=lambda: uuid4().hex)
    number: int = 0
    """Number of the last action that was handled."""
    item: str = ""
    """Item in the address after that action."""


Handlers = Mapping[str, Callable[[], object]]


def action_keys(key: str, url_key: str, keys: Mapping[str, str], handlers: Handlers) -> None:
    """Let letters or digits (``keys``: each with a kind of action) call the ``handlers`` of their kinds in callbacks.

    ``key`` is the session key of what was handled, and ``url_key`` the URL key of the item that is shown.
    """
    state: Acknowledged = st.session_state.setdefault(key, Acknowledged())
    widget = f"{key}_component"
    draw_component(
        "action_keys",
        ASSETS,
        "actions.js",
        data={
            "session": state.session,
            "acknowledged": state.number,
            "words": _WORDS,
            "keys": {letter.lower(): kind for letter, kind in keys.items()},
        },
        key=widget,
        on_actions_change=lambda: dispatch_actions(state, url_key, handlers, message(widget, "actions")),
    )


def dispatch_actions(state: Acknowledged, url_key: str, handlers: Handlers, message: Any) -> None:
    """Handle the actions of a message from the browser in their order; those handled before are skipped."""
    if not isinstance(message, Mapping) or message.get("session") != state.session:
        return
    if isinstance(message.get("seen"), int) and message["seen"] < state.number:
        # The browser sent this before the address of the last action had reached it.
        st.query_params[url_key] = state.item
    sent = [one for one in message.get("actions") or () if isinstance(one, Mapping) and type(one.get("number")) is int]
    for action in sorted(sent, key=lambda one: int(one["number"])):
        if action["number"] > state.number:
            state.number = int(action["number"])
            handler = handlers.get(str(action.get("kind")))
            if handler is not None:
                handler()
    state.item = st.query_params.get(url_key, "")
