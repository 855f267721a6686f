"""Requests of a job to a language model: in parallel, whose answers are kept, so that no request is repeated."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from themescope.core.config import digest_of
from themescope.core.errors import ConfigError, DataError
from themescope.db.settings import Settings

if TYPE_CHECKING:
    import httpx

K = TypeVar("K", bound=Hashable)
_POLL_S = 0.2
_FAILURES = 5
"""Requests in a row that may fail before no further ones are sent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Text of an answer; ``failure`` says why there is none."""

    text: str = ""
    failure: str = ""


def check_endpoint(endpoint: Endpoint, url: str, model: str) -> None:
    """Raise ``DataError`` if the endpoint of the settings is not the one that a person has agreed to."""
    if (endpoint.url, endpoint.model) != (url, model):
        raise DataError(
            f"The settings of the worker name another language model ({endpoint.model} at {endpoint.url}) than the one "
            "that was shown. Nothing was sent. Look at the texts again and send them."
        )


class Requests:
    """Requests to one endpoint. Answers are kept in ``file`` by the digest of the request, endpoint and model.

    A damaged line of the file, such as an unfinished last one, is not read. After a fatal failure, or several in a row,
    no further requests are sent.
    """

    def __init__(self, endpoint: Endpoint, file: Path, timeout_s: float, parallel: int, most_tokens: int = 300) -> None:
        self._endpoint, self._file = endpoint, file
        self._timeout_s, self._parallel, self._most_tokens = timeout_s, parallel, most_tokens
        self._known: dict[str, str] = {}
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            try:
                digest, answer = json.loads(line)
            except ValueError:
                continue
            self._known[digest] = answer
        self._lock = threading.Lock()
        self._failures, self._stopped = 0, ""
        self.sent = self.known = 0
        """Numbers of requests that were sent, without repetitions after errors, and of those with a kept answer."""

    def ask(
        self,
        requests: Mapping[K, Sequence[Message]],
        progress: Callable[[int], None],
        kept: Callable[[K, str], str] = lambda key, answer: answer,
    ) -> dict[K, Reply]:
        """Return the answer to each request. ``kept`` returns what is kept of an answer; "" if nothing is.

        ``progress`` is called with the number of answers, and ends all requests by an exception.
        """
        found: dict[K, Reply] = {}
        if not requests:
            return found
        model = LanguageModel(self._endpoint, self._timeout_s, self._most_tokens)
        pool = ThreadPoolExecutor(self._parallel, thread_name_prefix="language-model")
        try:
            waiting = {pool.submit(self._one, model, key, asked, kept): key for key, asked in requests.items()}
            while waiting:
                done: set[Future[Reply]] = wait(waiting, _POLL_S, FIRST_COMPLETED).done
                found |= {waiting.pop(future): future.result() for future in done}
                progress(len(found))
        finally:
            model.close()
            pool.shutdown(wait=False, cancel_futures=True)
        return {key: found[key] for key in requests}

    def _one(self, model: LanguageModel, key: K, messages: Sequence[Message], kept: Callable[[K, str], str]) -> Reply:
        digest = digest_of([list(map(dict, messages)), self._endpoint.url, self._endpoint.model])
        with self._lock:
            if digest in self._known:
                self.known += 1
                return Reply(self._known[digest])
            if self._stopped:
                return Reply(failure=self._stopped)
            self.sent += 1
        try:
            answer = model.ask(messages)
        except ModelError as error:
            self._failed(error)
            return Reply(failure=str(error))
        text = kept(key, answer)
        with self._lock:
            self._failures = 0
            if text:
                self._known[digest] = text
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([digest, text]) + "\n")
        return Reply(answer)

    def _failed(self, error: ModelError) -> None:
        with self._lock:
            self._failures += 1
            if error.fatal or self._failures >= _FAILURES:
                what = "a request" if error.fatal else "several requests"
                self._stopped = f"not asked, because {what} failed: {error}"


# Client of a language model behind an OpenAI-compatible endpoint, such as those of Ollama and llama.cpp

Message = Mapping[str, str]
LONGEST_ANSWER = 256_000
"""Bytes of an answer that are read; names and codes need less than 10,000."""
ATTEMPTS = 3
PAUSE_S = 0.5
"""Seconds before the second request; each further pause is twice as long."""
_LONGEST_WAIT_S, _CONNECT_S = 30.0, 10.0
_FATAL = (401, 403, 404)
"""Status codes for which further requests fail as well."""
_AGAIN = (408, 409, 425, 429)


class ModelError(Exception):
    """A request without a usable answer; the message says why, in one line without the key."""

    def __init__(self, reason: str, *, again: bool = True, fatal: bool = False, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.again, self.fatal, self.wait_s = again and not fatal, fatal, wait_s
        """Whether the request may succeed later, whether no request will, and the time that the server asks for."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address and model of the settings; ``repr`` shows no key."""

    url: str
    """Complete address of the requests."""
    model: str
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, settings: Settings) -> Endpoint:
        """Return the endpoint of the settings; raise ``ConfigError`` if they name none."""
        if not settings.llm_url:
            raise ConfigError(UNSET)
        base = settings.llm_url.rstrip("/")
        if not base.endswith("/chat/completions"):
            base += "/chat/completions" if base.endswith("/v1") else "/v1/chat/completions"
        return cls(base, settings.llm_model, settings.llm_key)


UNSET = (
    "A language model needs an OpenAI-compatible endpoint: set LLM_URL, such as http://localhost:11434 for Ollama, and "
    "LLM_MODEL."
)


class LanguageModel:
    """Client of one endpoint, for several threads. Close it to end its requests."""

    def __init__(self, endpoint: Endpoint, timeout_s: float = 60.0, most_tokens: int = 300) -> None:
        import httpx

        self.endpoint, self._timeout_s, self._most_tokens = endpoint, timeout_s, most_tokens
        self._stopped = threading.Event()
        self._structured = True
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "themescope"}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        times = httpx.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s))
        alone = httpx.Limits(max_connections=None, max_keepalive_connections=0)  # one that is cut is no other one's
        self._client = httpx.Client(
            headers=headers, timeout=times, limits=alone, follow_redirects=False, trust_env=False
        )

    def close(self) -> None:
        """End all requests, also those of other threads."""
        self._stopped.set()
        self._client.close()

    def ask(self, messages: Sequence[Message]) -> str:
        """Return the text of the answer; ask again after errors that may pass, with growing pauses.

        Raises
        ------
        ModelError
            If there is no answer after :data:`ATTEMPTS` requests, or the error does not pass.
        """
        for attempt in range(ATTEMPTS):
            try:
                return self._ask(messages)
            except ModelError as error:
                if not error.again or attempt + 1 == ATTEMPTS:
                    raise
                if self._stopped.wait(min(error.wait_s or PAUSE_S * 2**attempt, _LONGEST_WAIT_S)):
                    raise ModelError("the job was stopped", fatal=True) from None
        raise AssertionError("the loop returns or raises")

    def _ask(self, messages: Sequence[Message]) -> str:
        payload: dict[str, Any] = {"model": self.endpoint.model, "messages": list(messages), "temperature": 0}
        payload |= {"max_tokens": self._most_tokens, "stream": False}
        if self._structured:
            try:
                return _content(self._post(payload | {"response_format": {"type": "json_object"}}))
            except _StatusError as error:
                if error.status not in (400, 422):
                    raise
                self._structured = False  # some servers refuse the field
        return _content(self._post(payload))

    def _post(self, payload: Mapping[str, Any]) -> bytes:
        import httpx

        late, streams = threading.Event(), []

        def connected(event: str, info: Mapping[str, Any]) -> None:
            if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
                streams.append(info["return_value"])

        def cut() -> None:
            late.set()
            for stream in streams[-1:]:
                with suppress(OSError):
                    stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

        # Timeouts of the client are those of one read: a server that drips header or body byte by byte resets them.
        deadline = threading.Timer(self._timeout_s, cut)
        deadline.daemon = True
        deadline.start()
        try:
            with self._client.stream(
                "POST", self.endpoint.url, json=payload, extensions={"trace": connected}
            ) as response:
                _check(response)
                return self._body(response)
        except httpx.TimeoutException:
            raise ModelError(f"no answer within {self._timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, RuntimeError, OSError) as error:
            if self._stopped.is_set():
                raise ModelError("the job was stopped", fatal=True) from None
            if late.is_set():
                raise ModelError(f"no complete answer within {self._timeout_s:g} s") from None
            raise ModelError(f"the connection failed ({type(error).__name__})") from None
        finally:
            deadline.cancel()

    def _body(self, response: httpx.Response) -> bytes:
        found = bytearray()
        for chunk in response.iter_raw():
            found += chunk
            if len(found) > LONGEST_ANSWER:
                raise ModelError(f"the answer is longer than {LONGEST_ANSWER // 1000} kB", again=False)
        return bytes(found)


class _StatusError(ModelError):
    def __init__(self, status: int, wait_s: float) -> None:
        again = status in _AGAIN or status >= 500
        super().__init__(
            f"the server answered with status {status}", again=again, fatal=status in _FATAL, wait_s=wait_s
        )
        self.status = status


def _check(response: httpx.Response) -> None:
    if response.is_redirect:
        raise ModelError("the server redirects to another address, which is not followed", fatal=True)
    if response.status_code != 200:
        raise _StatusError(response.status_code, _retry_after(response.headers.get("Retry-After", "")))
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ModelError("the answer is compressed, which was not requested", again=False)


def _retry_after(text: str) -> float:
    """Return the seconds of a ``Retry-After`` header, a number or a date; 0 if it is neither."""
    with suppress(ValueError, TypeError, OverflowError):
        if text.strip().isdecimal():
            return float(text)
        return max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
    return 0.0


def _content(body: bytes) -> str:
    """Return the text of a chat completion; raise ``ModelError`` if the body is none."""
    try:
        answer = json.loads(body.decode("utf-8"))
        content = answer["choices"][0]["message"]["content"]
    except UnicodeDecodeError:
        raise ModelError("the answer is not UTF-8") from None
    except (ValueError, RecursionError):
        raise ModelError("the answer is no JSON") from None
    except (KeyError, IndexError, TypeError):
        raise ModelError("the answer is no chat completion") from None
    if not isinstance(content, str) or not content.strip():
        raise ModelError("the answer is empty")
    return content
