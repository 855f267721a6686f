"""Requests to a language model: names of themes, and codes of sentences."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from themescope.core.config import digest_of, option
from themescope.core.errors import ConfigError, DataError
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.labelling.prediction import CodingPrompt, batches, coding_prompt
from themescope.core.records.stored import JobStatus, LabellingRecord, RunRecord
from themescope.core.types import Ids
from themescope.db.settings import Settings
from themescope.db.store import Store, Unit
from themescope.jobs.common.job import JobConfig
from themescope.jobs.common.labelled import judged_sentences, placed_sentences

if TYPE_CHECKING:
    import httpx


# Requests of a job to a language model: in parallel, whose answers are kept, so that no request is repeated

K = TypeVar("K", bound=Hashable)
_POLL_S = 0.2
_FAILURES = 5
"""Requests in a row that may fail before no further ones are sent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Text of an answer; ``failure`` says why there is none."""

    text: str = ""
    failure: str = ""


@dataclass(frozen=True)
class SendingConfig(JobConfig):
    """Arguments of a job that sends texts, as a person agreed to."""

    endpoint: str = option("", "Address that the texts are sent to, as it was shown.", required=True)
    model: str = option("", "Name of the language model, as it was shown.", required=True)
    texts: str = option("", "Digest of the texts that were shown.", required=True)
    send: bool = option(False, "Agreement that the texts are sent to that address.")
    timeout: float = option(60.0, "Seconds for each request.", low=0.1, high=600.0)
    parallel: int = option(4, "Number of requests at the same time.", low=1, high=16)

    def validate(self) -> None:
        """Check the agreement."""
        if not self.send:
            raise ConfigError(f"Nothing was sent: sending the texts to {self.endpoint} needs your agreement.")

    def agreed_endpoint(self, settings: Settings) -> Endpoint:
        """Return the endpoint of the settings; raise ``DataError`` if it is not the one that was shown."""
        endpoint = Endpoint.of(settings)
        if (endpoint.url, endpoint.model) != (self.endpoint, self.model):
            raise DataError(
                f"The settings of the worker name another language model ({endpoint.model} at {endpoint.url}) than the "
                "one that was shown. Nothing was sent. Look at the texts again and send them."
            )
        return endpoint


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
            with self._lock:
                self._failures += 1
                if error.fatal or self._failures >= _FAILURES:
                    what = "a request" if error.fatal else "several requests"
                    self._stopped = f"not asked, because {what} failed: {error}"
            return Reply(failure=str(error))
        text = kept(key, answer)
        with self._lock:
            self._failures = 0
            if text:
                self._known[digest] = text
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([digest, text]) + "\n")
        return Reply(answer)


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
        self._client = httpx.Client(headers=headers, timeout=times, limits=alone, trust_env=False)

    def close(self) -> None:
        """End all requests, also those of other threads."""
        self._stopped.set()
        self._client.close()

    def ask(self, messages: Sequence[Message]) -> str:
        """Return the text of the answer; ask again after errors that may pass, with growing pauses.

        Raises ``ModelError`` if there is no answer after :data:`ATTEMPTS` requests, or the error does not pass.
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
            url, trace = self.endpoint.url, {"trace": connected}
            with self._client.stream("POST", url, json=payload, extensions=trace) as response:
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
        again, reason = status in _AGAIN or status >= 500, f"the server answered with status {status}"
        super().__init__(reason, again=again, fatal=status in _FATAL, wait_s=wait_s)
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


# What is sent to a language model that codes by a codebook: shown to a person, with an estimate, before it is sent

KIND = "code-with-model"
ALL, LABELLED = "all", "labelled"
"""All sentences of the labelling, or those that people placed in it or in another labelling of them."""
_ANSWER_TOKENS, _CODE_TOKENS = 10, 8
"""Tokens of an answer, and of each code in it."""
_TOKEN_BYTES = 4


@dataclass(frozen=True, slots=True)
class CodingRequest:
    """What a person asks for."""

    labelling: str
    sentences: str = ALL
    limit: int = 0
    """Maximum number of sentences, drawn at random; 0: all of them."""
    seed: int = 0
    batch: int = 10
    """Sentences of a request."""
    instructions: tuple[str, ...] = ("",)
    """Instructions before the codebook; several are compared on the sentences that people judged."""


@dataclass(frozen=True, eq=False)
class CodingPlan:
    """Texts that a language model codes, each once, and the prompts by which it does."""

    record: LabellingRecord
    partition: Partition
    prompts: tuple[CodingPrompt, ...]
    texts: tuple[str, ...]
    """(m,) different texts, without those that are examples in the prompt."""
    rows: tuple[Ids, ...]
    """Rows of the partition with each text."""
    truth: Ids
    """(m,) cluster that people gave to the first sentence of a text; :data:`UNASSIGNED` where nobody did, or where
    there is only one prompt."""
    documents: Ids
    """(m,) article of the first sentence of a text."""
    batch: int
    examples: int
    """Sentences that are not coded, because the prompt has their text as an example."""

    @property
    def compared(self) -> list[int]:
        """Return the places of the texts on which prompts are compared."""
        return np.flatnonzero(self.truth != UNASSIGNED).tolist()

    def batches(self, places: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the places of the texts of each request."""
        return [tuple(places[i] for i in batch) for batch in batches([self.texts[i] for i in places], self.batch)]

    @cached_property
    def requests(self) -> list[tuple[CodingPrompt, tuple[int, ...]]]:
        """Prompt and places of the texts of every request, without those that are repeated after a bad answer.

        Which of several prompts codes the sentences that nobody judged is not known yet; the first one stands for it.
        """
        first, *_ = self.prompts
        compared = self.compared if len(self.prompts) > 1 else []
        rest = sorted({*range(len(self.texts))} - {*compared})
        found = [(prompt, batch) for prompt in self.prompts for batch in self.batches(compared)]
        return found + [(first, batch) for batch in self.batches(rest)]

    @cached_property
    def digest(self) -> str:
        """Digest of everything that may be sent."""
        return digest_of({"prompts": [prompt.system for prompt in self.prompts], "texts": self.texts})

    @cached_property
    def text(self) -> str:
        """Messages of all requests, with each prompt once."""
        blocks = [f"[system, prompt {place}]\n{prompt.system}" for place, prompt in enumerate(self.prompts, 1)]
        for number, (prompt, batch) in enumerate(self.requests, 1):
            which = f"prompt {self.prompts.index(prompt) + 1}" if len(self.prompts) > 1 else "user"
            user = prompt.messages([self.texts[i] for i in batch])[-1]["content"]
            blocks.append(f"[{which}, request {number:,} of {len(self.requests):,}]\n{user}")
        return "\n\n".join(blocks)


def plan_of(store: Store, wanted: CodingRequest) -> CodingPlan:
    """Return the plan; raise :class:`DataError` if there is nothing to code, or the codebook has too few codes."""
    with store.reading() as r:
        record = r.labellings.by_name(wanted.labelling)
        partition = r.labellings.snapshot(record.id).partition
        ids = _labelled(r, record, partition) if wanted.sentences == LABELLED else partition.ids
        if wanted.limit and len(ids) > wanted.limit:
            ids = np.sort(np.random.default_rng(wanted.seed).permutation(ids)[: wanted.limit])
        known = codes(partition)
        quoted = {id for code in known for id in (*code.entry.examples, *code.entry.counter_examples)}
        sentences = r.corpora.sentences_by_id(np.union1d(ids, np.array(sorted(quoted), np.int64)))
        judged = judged_sentences(r, record, partition) if len(wanted.instructions) > 1 else ids[:0]
    examples = {id: sentences[id].text for id in quoted if id in sentences}
    shown = {*examples.values()}
    rows: dict[str, list[int]] = {}
    for id, row in zip(ids.tolist(), partition.rows(ids).tolist(), strict=True):
        if (text := sentences[id].text) not in shown:
            rows.setdefault(text, []).append(row)
    if not rows:
        reason = "Every sentence is an example of the codebook" if len(ids) else "People have not labelled a sentence"
        raise DataError(f"There is nothing to code. {reason}; choose other sentences.")
    first = np.array([own[0] for own in rows.values()])
    people = np.isin(partition.ids[first], judged)
    return CodingPlan(
        record,
        partition,
        tuple(coding_prompt(known, examples, text) for text in wanted.instructions),
        tuple(rows),
        tuple(np.array(own, np.int64) for own in rows.values()),
        np.where(people, partition.numbers[first], UNASSIGNED),
        np.array([sentences[int(id)].article_id for id in partition.ids[first]], np.int64),
        wanted.batch,
        len(ids) - sum(map(len, rows.values())),
    )


def _labelled(r: Unit, record: LabellingRecord, partition: Partition) -> Ids:
    """Return the sentences that people placed in a labelling, or in another one of the same corpus."""
    found = [partition.ids[:0]]
    for other in r.labellings.list(record.corpus_id):
        if not other.by_model:
            found.append(placed_sentences(r, other, r.labellings.snapshot(other.id).partition))
    return np.intersect1d(np.unique(np.concatenate(found)), partition.ids)


@dataclass(frozen=True, slots=True)
class CodingEstimate:
    """What a plan takes."""

    requests: int
    most: int
    """Number of requests if every answer is unusable, and each sentence is asked about once more alone."""
    read: int
    """Tokens of the requests: a quarter of their bytes, about right for English text."""
    written: int
    """Tokens of the answers."""
    seconds: float | None
    """By the speed of the newest job with this model; None before the first one."""

    def cost(self, per_million_read: float, per_million_written: float) -> float:
        """Return the cost in the currency of the prices, which are of a million tokens."""
        return (self.read * per_million_read + self.written * per_million_written) / 1e6


def estimate(plan: CodingPlan, endpoint: Endpoint, newest: dict[str, Any]) -> CodingEstimate:
    """Return the estimate of a plan; ``newest`` is the result of :func:`newest_result`."""
    asked = plan.requests
    systems = {prompt: len(prompt.system.encode()) for prompt in plan.prompts}
    size = sum(systems[prompt] + sum(len(plan.texts[i].encode()) + 6 for i in batch) for prompt, batch in asked)
    sentences = sum(len(batch) for _, batch in asked)
    same = (newest.get("endpoint"), newest.get("model")) == (endpoint.url, endpoint.model) and newest.get("requests")
    return CodingEstimate(
        len(asked),
        len(asked) + sum(len(batch) for _, batch in asked if len(batch) > 1),
        size // _TOKEN_BYTES,
        len(asked) * _ANSWER_TOKENS + sentences * _CODE_TOKENS,
        len(asked) * newest["seconds"] / newest["requests"] if same else None,
    )


def newest_result(store: Store) -> dict[str, Any]:
    """Return the result of the newest finished job that coded with a model; empty before the first one."""
    with store.reading() as r:
        job = r.jobs.newest(KIND, JobStatus.DONE)
    return {} if job is None else dict(job.result)


# What a language model is told about themes: one request per theme, shown to a person before anything is sent

SENTENCES, LONGEST_SENTENCE = 5, 300
"""Sentences of a theme that are sent, and the characters of each."""
_PROMPTS = Path(__file__).parents[1] / "prompts" / "name_themes"


@dataclass(frozen=True, slots=True)
class ThemeMaterial:
    """What is sent about one theme; ``number`` is its place among the themes, or the number of a cluster."""

    number: int
    name: str
    phrases: tuple[str, ...]
    sentences: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the phrases and sentences."""
        return self.phrases + self.sentences

    def messages(self, taken: Sequence[str] = ()) -> list[Message]:
        """Return the messages of the request; ``taken`` are names that the answer must not repeat."""
        parts = {
            "phrases": json.dumps(self.phrases, ensure_ascii=False),
            "sentences": "\n".join(json.dumps(sentence, ensure_ascii=False) for sentence in self.sentences),
        }
        user = _filled("user", parts)
        if taken:
            user += "\n" + _filled("again", {"taken": json.dumps(list(taken), ensure_ascii=False)})
        return [{"role": "system", "content": prompt("system")}, {"role": "user", "content": user}]


@cache
def prompt(name: str) -> str:
    """Return the text of a prompt of the folder ``jobs/prompts/name_themes``."""
    return (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()


def _filled(name: str, parts: Mapping[str, str]) -> str:
    """Return a prompt with its placeholders replaced in one pass, so that braces in texts stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], prompt(name))


def materials_of_run(store: Store, run: RunRecord, numbers: Sequence[int] = ()) -> list[ThemeMaterial]:
    """Return what is sent about the themes ``numbers`` (places from 0; default: all) of a result."""
    themes = list(enumerate(run.found["themes"]))
    chosen = [themes[number] for number in numbers] if numbers else themes
    ids = [i for _, theme in chosen for i in theme["central"][:SENTENCES]]
    with store.reading() as r:
        texts = {i: s.text for i, s in r.corpora.sentences_by_id(np.array(ids, np.int64)).items()}
    found = []
    for number, theme in chosen:
        central = tuple(shortened(texts[i]) for i in theme["central"][:SENTENCES] if i in texts)
        found.append(ThemeMaterial(number, theme["name"], tuple(theme["words"]), central))
    return found


def shortened(text: str) -> str:
    """Return a sentence in one line, cut to :data:`LONGEST_SENTENCE` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_SENTENCE else flat[: LONGEST_SENTENCE - 1] + "…"


def agreed_digest(materials: Sequence[ThemeMaterial]) -> str:
    """Return a digest of the requests, which a job compares with what a person agreed to; no themes are an error."""
    if not materials:
        raise DataError("There is no theme to name.")
    return digest_of({"requests": [list(map(dict, material.messages())) for material in materials]})


def amount(materials: Sequence[ThemeMaterial]) -> tuple[int, int]:
    """Return the numbers of sentences and of characters of all requests, prompts included."""
    characters = sum(len(message["content"]) for material in materials for message in material.messages())
    return sum(len(material.sentences) for material in materials), characters
