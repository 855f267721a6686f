"""Simulated people who label on the Relabel page: clients of the protocol between Streamlit's page and its server.

A client does what a browser does: it requests the page, keeps its cookies, opens the websocket, runs the page, sends
numbered actions as ``action_queue.js`` does, and counts an action as saved when the page acknowledges it and says so.
If the connection breaks, it connects again after a second, as Streamlit's page does.
"""

from __future__ import annotations

import json
import random
import ssl
import time
import urllib.request
from collections.abc import Callable, Mapping
from http.cookies import SimpleCookie
from threading import Event
from typing import Any
from urllib.parse import quote

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

ROUTE = "themescope_route"
ANSWER_S = 30.0
_AGAIN_S = 1.0


class Disconnected(Exception):
    """Raised when the connection to the page broke, or the page does not answer."""


class Page:
    """The open Relabel page of one person."""

    def __init__(self, url: str, trust: ssl.SSLContext | None, cookies: dict[str, str], labelling: str) -> None:
        self._url, self._trust, self.cookies, self._labelling = url, trust, cookies, labelling
        self._fragment = self._widget = self._refreshed_fragment = ""
        self._runs = 0
        self.toolbar: Mapping[str, Any] = {}
        self._connection: ClientConnection | None = None
        self._number = 0

    def open(self) -> None:
        """Request the page, connect and run it; raises :class:`Disconnected`."""
        try:
            request = urllib.request.Request(f"{self._url}/relabel", headers={"Cookie": self._cookie_header()})
            with urllib.request.urlopen(request, timeout=ANSWER_S, context=self._trust) as answer:
                self._keep(answer.headers.get_all("Set-Cookie") or [])
            address = self._url.replace("http", "ws", 1) + "/_stcore/stream"
            self._connection = connect(
                address,
                origin=self._url,  # type: ignore[arg-type]
                additional_headers={"Cookie": self._cookie_header()},
                subprotocols=["streamlit"],  # type: ignore[list-item]
                ssl=self._trust,
                open_timeout=ANSWER_S,
                max_size=None,
            )
            assert self._connection.response is not None
            self._keep(self._connection.response.headers.get_all("Set-Cookie"))
        except (OSError, WebSocketException) as error:
            raise Disconnected(str(error)) from error
        self.toolbar = {}
        self._send(None)
        self._until(lambda: bool(self.toolbar))
        self._number = int(self.toolbar["acknowledged"])

    def move(self, sentence: int, cluster: int) -> bool:
        """Move a sentence, and return whether the page says that it was saved; raises :class:`Disconnected`."""
        self.act("move", ids=[sentence], cluster=cluster)
        return bool(self.toolbar["status"]["state"] == "saved")

    def act(self, kind: str, **values: Any) -> None:
        """Send an action of the page, and wait until it is acknowledged; raises :class:`Disconnected`."""
        self._number += 1
        number, session = self._number, self.toolbar["session"]
        action = {"kind": kind, "number": number, **values}
        self._send({"actions": {"session": session, "actions": [action], "attempt": 0}})
        self._until(lambda: int(self.toolbar["acknowledged"]) >= number)

    def refresh(self) -> None:
        """Run the part of the page that refreshes by itself; raises :class:`Disconnected`."""
        runs = self._runs
        self._send(None, self._refreshed_fragment)
        self._until(lambda: self._runs > runs)

    def close(self) -> None:
        """Close the page."""
        if self._connection is not None:
            self._connection.close()

    def _send(self, state: Mapping[str, Any] | None, fragment: str = "") -> None:
        message = BackMsg()
        run = message.rerun_script
        run.fragment_id = fragment
        run.page_name, run.query_string = "relabel", f"relabel_labelling={quote(self._labelling)}"
        if state is not None:
            run.fragment_id = self._fragment
            run.widget_states.widgets.add(id=self._widget, json_value=json.dumps(state))
        assert self._connection is not None
        try:
            self._connection.send(message.SerializeToString())
        except (OSError, WebSocketException) as error:
            raise Disconnected(str(error)) from error

    def _until(self, condition: Callable[[], bool]) -> None:
        assert self._connection is not None
        until = time.monotonic() + ANSWER_S
        while not condition():
            try:
                data = self._connection.recv(max(until - time.monotonic(), 0.0))
            except (OSError, TimeoutError, WebSocketException) as error:
                raise Disconnected(str(error)) from error
            assert isinstance(data, bytes)
            self._read(ForwardMsg.FromString(data))

    def _read(self, message: ForwardMsg) -> None:
        """Keep the data of the toolbar, which acknowledges actions, and count the runs of the script."""
        kind = message.WhichOneof("type")
        if kind == "auto_rerun":
            self._refreshed_fragment = message.auto_rerun.fragment_id
        self._runs += kind == "script_finished"
        if kind != "delta":
            return
        delta = message.delta
        if delta.new_element.WhichOneof("type") != "bidi_component":
            return
        component = delta.new_element.bidi_component
        if component.component_name.endswith("themescope_toolbar"):
            self._fragment, self._widget = delta.fragment_id, component.id
            self.toolbar = json.loads(component.mixed.json or component.json)

    def _cookie_header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _keep(self, headers: list[str]) -> None:
        for header in headers:
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(header).items()}


def label(
    page: Page, places: dict[int, int], clusters: list[int], pause: float, stop: Event, log: Callable[..., None]
) -> None:
    """Move sentences of one's own until ``stop`` is set, about one in ``pause`` seconds; log every result.

    ``places`` has the sentences and their clusters; every move is to another cluster, since a move to the same one is
    no step of the history. A sentence whose last move was not acknowledged is left alone: nobody knows where it is.
    """
    chance, places = random.Random(str(min(places))), {**places}
    connected = False
    stop.wait(chance.uniform(0, pause))
    while not stop.is_set():
        if not connected:
            started = time.perf_counter()
            try:
                page.open()
            except Disconnected:
                stop.wait(_AGAIN_S)
                continue
            connected = True
            log(event="connected", route=page.cookies.get(ROUTE), seconds=time.perf_counter() - started)
        sentence = chance.choice([*places])
        cluster = chance.choice([number for number in clusters if number != places[sentence]])
        started = time.perf_counter()
        try:
            saved = page.move(sentence, cluster)
        except Disconnected:
            connected = False
            log(event="disconnected", sentence=sentence, cluster=cluster)
            del places[sentence]
            page.close()
            stop.wait(_AGAIN_S)
            continue
        seconds = time.perf_counter() - started
        places[sentence] = cluster
        log(event="saved" if saved else "refused", sentence=sentence, cluster=cluster, seconds=seconds)
        stop.wait(max(0.0, pause * chance.uniform(0.5, 1.5) - seconds))
    page.close()
