"""Requests of a job to a language model: in parallel, whose answers are kept, so that no request is repeated."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from themescope.core.config import digest_of
from themescope.core.errors import DataError
from themescope.jobs.common.language_models.client import Endpoint, LanguageModel, Message, ModelError

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
