"""Data, settings and networks of recurrent models: sentences as rows of a vocabulary, batches, vocabulary expansion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from themescope.core.config import THREADS, Config, option
from themescope.core.errors import ReadError
from themescope.core.models.networks import with_weights
from themescope.core.models.triplet_network.network import length_batches, length_chunks, reversal
from themescope.core.text.languages import tokenize
from themescope.core.text.word_vectors import STORAGES, NumberedTexts, TokenIds, WordVectors, numbered
from themescope.core.types import Float32, Index, Sentence

END, UNKNOWN = 0, 1
SPECIAL = 2
"""Number of rows of the word table before the first word: END of a sentence, and UNKNOWN for other words."""


@dataclass(frozen=True)
class WordRows(NumberedTexts):
    """Tokenised sentences by row of the word table, and which of them training uses."""

    words: list[str]
    """Word of row SPECIAL + i."""
    counts: Index
    """(SPECIAL + words,) number of times that each row is a target."""
    usable: Index
    """Rows that batches are sampled from."""

    def batches(self, size: int, per_epoch: int, seed: int, epoch: int) -> list[Index]:
        """Return shuffled batches of usable rows of similar length; they depend only on ``seed`` and ``epoch``."""
        random = np.random.default_rng([seed, epoch])
        order = random.permutation(self.usable)[: per_epoch or len(self.usable)]
        batches = list(length_batches(order, self.lengths, size))
        return [batches[i] for i in random.permutation(len(batches))]


def word_rows(
    sentences: Iterable[Sequence[str]], vocabulary: int, tick: Callable[[], None], *, least: int = 1
) -> WordRows:
    """Tokenise with the ``vocabulary`` most frequent words; sentences of at least ``least`` words are usable."""
    names, texts = numbered(sentences, tick)
    kept = [word for word, _ in Counter(texts.ids.tolist()).most_common(vocabulary)]
    row_of = np.full(len(names), UNKNOWN, np.int32)
    row_of[kept] = np.arange(SPECIAL, SPECIAL + len(kept))
    ids = row_of[texts.ids]
    counts = np.bincount(ids, minlength=SPECIAL + len(kept)).astype(np.int64)
    counts[END] = len(texts)
    usable = np.flatnonzero(texts.lengths >= max(least, 1))
    return WordRows(ids, texts.starts, [names[i] for i in kept], counts, usable)


@dataclass(frozen=True)
class SkipData(WordRows):
    """Sentences with their neighbours; non-empty sentences with a non-empty neighbour are usable."""

    neighbours: Index
    """(n, 2) rows of the previous and the next sentence, -1 where there is none."""


def skip_data(sentences: Sequence[Sentence], vocabulary: int, most: int, tick: Callable[[], None]) -> SkipData:
    """Tokenise in lower case with the ``vocabulary`` most frequent words; cut sentences after ``most`` words.

    Neighbours are consecutive sentences of one article; a sentence without an article has none.
    """
    rows = word_rows((tokenize(s.text.lower())[:most] for s in sentences), vocabulary, tick)
    places = {(s.article_id, s.position): i for i, s in enumerate(sentences) if s.article_id != -1}
    found = [[places.get((s.article_id, s.position + step), -1) for step in (-1, 1)] for s in sentences]
    neighbours = np.array(found, np.int64).reshape(-1, 2)
    filled = np.append(rows.lengths > 0, False)  # row -1: no neighbour
    neighbours = np.where(filled[neighbours], neighbours, -1)
    usable = np.flatnonzero(filled[:-1] & (neighbours >= 0).any(axis=1))
    return SkipData(rows.ids, rows.starts, rows.words, rows.counts, usable, neighbours)


_RIDGE = 1e-6


@dataclass(frozen=True)
class ExpandedWords:
    """Learned word vectors, extended to other words of ``table`` by ``vector · map + shift``."""

    own: WordVectors
    table: WordVectors
    map: Float32
    """(table.dim, own.dim)"""
    shift: Float32
    """(own.dim,)"""

    def of_words(self, words: Sequence[str]) -> tuple[Float32, npt.NDArray[np.bool_]]:
        """Return (n, dim) vectors and an (n,) mask of known words; vectors of unknown words are zero."""
        vectors = np.zeros((len(words), self.own.dim), np.float32)
        learned = np.array([self.own.row(word) for word in words], np.int64)
        others = np.array([self.table.row(word) for word in words], np.int64)
        mapped = np.flatnonzero((learned < 0) & (others >= 0))
        if len(mapped):
            vectors[mapped] = self.table.vectors(others[mapped]) @ self.map + self.shift
        given = np.flatnonzero(learned >= 0)
        if len(given):
            vectors[given] = self.own.vectors(learned[given])
        return vectors, (learned >= 0) | (others >= 0)


def expanded(own: WordVectors, table: WordVectors) -> ExpandedWords:
    """Fit the map by least squares over the words that both tables have; without common words it is zero."""
    rows = np.array([table.row(word) for word in own.words], np.int64)
    common = np.flatnonzero(rows >= 0)
    if not len(common):
        return ExpandedWords(own, table, np.zeros((table.dim, own.dim), np.float32), np.zeros(own.dim, np.float32))
    x, y = table.vectors(rows[common]).astype(np.float64), own.vectors(common).astype(np.float64)
    middle, target = x.mean(axis=0), y.mean(axis=0)
    x, y = x - middle, y - target
    scale = _RIDGE * max(float(np.square(x).sum()), 1.0)
    solved = np.linalg.solve(x.T @ x + scale * np.eye(table.dim), x.T @ y)
    return ExpandedWords(own, table, solved.astype(np.float32), (target - middle @ solved).astype(np.float32))


@dataclass(frozen=True)
class RecurrentTrainingConfig(Config):
    """Sizes and training of a GRU encoder with its decoders; smaller than in the papers."""

    hidden: int = option(
        300,
        "Units of the encoder in each direction; a sentence vector has twice as many dimensions.",
        low=2,
        high=4_800,
    )
    decoder: int = option(300, "Units of each decoder.", low=2, high=4_800)
    word_dim: int = option(300, "Dimensions of the word vectors that the encoder learns.", low=2, high=2_000)
    vocabulary: int = option(20_000, "Number of most frequent words of the corpus to learn.", low=1, high=1_000_000)
    max_tokens: int = option(30, "Maximum number of words of a sentence to read and predict.", low=1, high=1_000)
    negatives: int = option(512, "Number of words sampled for the softmax in each step.", low=1, high=100_000)
    epochs: int = option(1, "Number of passes over the sentences.", low=1, high=1_000)
    sentences_per_epoch: int = option(0, "Number of sentences sampled in each epoch; 0 uses all.", low=0)
    batch_size: int = option(128, "Number of sentences in a batch.", low=1, high=65_536)
    learning_rate: float = option(1e-3, "Learning rate of Adam.", low=1e-6, high=1.0)
    gradient_clip: float = option(10.0, "Maximum norm of the gradient of a batch.", low=1e-3, high=1e6)
    device: str = option("auto", "auto uses a CUDA GPU if there is one.", choices=("auto", "cpu", "cuda"))
    threads: int = option(0, THREADS, low=0, high=256)
    checkpoint_seconds: float = option(15.0, "Interval between checkpoints.", low=0, high=30, unit="s")


@dataclass(frozen=True)
class SkipThoughtConfig(RecurrentTrainingConfig):
    """Settings of ``skip-thought``."""

    word_vectors: str = option(
        "glove-6b-50d",
        "Table of word vectors for words that are not learned; with the setting weights, the table "
        "that the weights were trained with.",
        file=True,
    )
    vocabulary_limit: int = option(0, "Read only the first words of the table, this many; 0 reads all.", low=0)
    storage: str = option("int8", "Number format of the word vectors in the saved model.", choices=STORAGES)
    weights: str = option(
        "",
        "Instead of training: a .safetensors or .npz file with the weights of a recurrent encoder, named as in the "
        "release of Kiros et al. 2015 (encoder_U, encoder_Ux, encoder_W, …; encoder_r_… for the backward direction).",
        file=True,
    )
    lowercase: bool = option(True, "With the setting weights: convert words to lower case. Training always does.")


@dataclass(frozen=True)
class SaeConfig(RecurrentTrainingConfig):
    """Settings of ``sae``."""

    epochs: int = option(5, "Number of passes over the sentences.", low=1, high=1_000)
    min_tokens: int = option(3, "Ignore shorter sentences in training.", low=1)
    dropout_rate: float = option(
        0.2, "Share of the dimensions of a word vector that is masked in training.", low=0, high=0.95
    )
    storage: str = option("fp16", "Number format of the word vectors in the saved model.", choices=STORAGES)

    @property
    def noise(self) -> tuple[float, float]:
        """(p_o, p_x), the probabilities of noise in the input of the encoder: none."""
        return 0.0, 0.0


@dataclass(frozen=True)
class SdaeConfig(SaeConfig):
    """Settings of ``sdae``."""

    deleted: float = option(0.1, "Probability p_o that a word is deleted from the input.", low=0, high=1)
    swapped: float = option(0.1, "Probability p_x that two adjacent words of the input are swapped.", low=0, high=1)

    @property
    def noise(self) -> tuple[float, float]:
        """(p_o, p_x), the probabilities of noise in the input of the encoder."""
        return self.deleted, self.swapped


# GRU encoder and decoder, and a reader of published weights (Kiros et al. 2015, section 2)

_CELLS = 8_192  # number of padded tokens encoded at once
_NAMES = ("W", "b", "U", "Wx", "bx", "Ux")


class GruEncoder(nn.Module):
    """(n, t, dim) words and (n,) lengths → (n, hidden · directions) last states."""

    def __init__(self, dim: int, hidden: int, *, both_ways: bool = True) -> None:
        super().__init__()
        self.onward = nn.GRU(dim, hidden, batch_first=True)
        self.backward_ = nn.GRU(dim, hidden, batch_first=True) if both_ways else None

    @property
    def width(self) -> int:
        """Dimensions of a sentence vector."""
        return int(self.onward.hidden_size) * (2 if self.backward_ is not None else 1)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the last states of padded sentences; padding has no influence, a sentence of length 0 gives zeros."""
        states = [_last(self.onward(words)[0], lengths)]
        if self.backward_ is not None:
            turn = reversal(lengths, words.shape[1]).unsqueeze(2)
            states.append(_last(self.backward_(words.gather(1, turn.expand_as(words)))[0], lengths))
        return torch.cat(states, dim=1)


class GruDecoder(nn.Module):
    """Predicts a sentence word by word; the sentence vector is added to every gate in every step."""

    def __init__(self, dim: int, width: int, hidden: int) -> None:
        super().__init__()
        self.words = nn.Linear(dim, 3 * hidden)
        self.sentence = nn.Linear(width, 3 * hidden, bias=False)
        self.recurrent = nn.Linear(hidden, 3 * hidden, bias=False)
        self.hidden = hidden

    def forward(self, words: Tensor, sentences: Tensor) -> Tensor:
        """Return (n, t, hidden) states for (n, t, dim) preceding words and (n, width) sentence vectors."""
        gates = self.words(words) + self.sentence(sentences).unsqueeze(1)
        h = words.new_zeros((words.shape[0], self.hidden))
        states = []
        for step in gates.unbind(1):
            own = self.recurrent(h)
            r, z = torch.sigmoid(step[:, : 2 * self.hidden] + own[:, : 2 * self.hidden]).chunk(2, dim=1)
            new = torch.tanh(step[:, 2 * self.hidden :] + r * own[:, 2 * self.hidden :])
            h = new + z * (h - new)
            states.append(h)
        return torch.stack(states, dim=1)


def gru_encoder(weights: Mapping[str, Tensor]) -> GruEncoder:
    """Return an encoder with these weights. Raises ``RuntimeError`` when their shapes do not fit together."""
    rows, dim = weights["onward.weight_ih_l0"].shape
    both_ways = "backward_.weight_ih_l0" in weights
    return with_weights(lambda: GruEncoder(dim, rows // 3, both_ways=both_ways), weights)


def encode_tokens(net: GruEncoder, tokens: TokenIds, out: Float32) -> None:
    """Write the vectors of non-empty sentences into (n, width) ``out``; sentences of similar length are batched."""
    device = next(net.parameters()).device
    vectors = tokens.table if len(tokens.table) else np.zeros((1, int(net.onward.input_size)), np.float32)
    table = torch.from_numpy(vectors).to(device)
    for rows in length_chunks(tokens.lengths, _CELLS):
        ids, lengths = tokens.padded(rows)
        words = torch.nn.functional.embedding(torch.from_numpy(ids).to(device), table)
        out[rows] = net(words, torch.from_numpy(lengths).to(device)).cpu().numpy()


def _last(states: Tensor, lengths: Tensor) -> Tensor:
    places = (lengths - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, states.shape[2])
    return states.gather(1, places).squeeze(1) * (lengths > 0).unsqueeze(1)


def read_recurrent_weights(path: Path, dim: int) -> GruEncoder:
    """Return the encoder in a ``.safetensors`` or ``.npz`` file with the layout of the release of Kiros et al. (2015).

    For word vectors with d = ``dim`` dimensions and h units, the file has these arrays (others are ignored):

    =================  ==========  =======================================================
    ``encoder_W``      (d, 2h)     words into the gates r and z, in this order
    ``encoder_b``      (2h,)       bias of the gates
    ``encoder_U``      (h, 2h)     states into the gates
    ``encoder_Wx``     (d, h)      words into the candidate state
    ``encoder_bx``     (h,)        bias of the candidate state
    ``encoder_Ux``     (h, h)      states into the candidate state
    ``encoder_r_…``    likewise    the same six for the backward direction, if there is one
    =================  ==========  =======================================================

    The release's ``utable.npy`` and ``dictionary.txt`` become a table of word vectors when the array is stored as
    ``vectors`` in a ``.safetensors`` file, with the dictionary as ``….vocab.txt``. Pickles are never opened.
    Raises :class:`ReadError` for a file without these arrays or with other shapes.
    """
    tensors = _tensors(path)
    prefixes = {"onward": "encoder_"} | ({"backward_": "encoder_r_"} if "encoder_r_W" in tensors else {})
    directions = {name: _direction(path, tensors, prefix, dim) for name, prefix in prefixes.items()}
    units = [len(arrays["weight_hh_l0"]) // 3 for arrays in directions.values()]
    if len(set(units)) > 1:
        raise ReadError(
            path,
            f"its directions have {units[0]} and {units[1]} units.",
            advice="Give a file in the layout of the release.",
        )
    return gru_encoder({f"{name}.{key}": array for name, given in directions.items() for key, array in given.items()})


def _tensors(path: Path) -> Mapping[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files if name.startswith("encoder_")}
        return load_file(path)
    except (OSError, ValueError, SafetensorError) as error:
        raise ReadError(
            path, f"the recurrent weights cannot be read: {error}.", advice="Give a .safetensors or .npz file."
        ) from None


def _direction(path: Path, tensors: Mapping[str, Any], prefix: str, dim: int) -> dict[str, Tensor]:
    """Return the arrays of one direction under torch's names, with the gates in torch's order r, z, candidate."""
    missing = [prefix + name for name in _NAMES if prefix + name not in tensors]
    if missing:
        advice = "Give a file in the layout of the release."
        raise ReadError(path, f"the array {missing[0]!r} is missing.", advice=advice)
    arrays = {name: np.asarray(tensors[prefix + name], np.float32) for name in _NAMES}
    hidden = arrays["Ux"].shape[0]
    shapes = {
        "W": (dim, 2 * hidden),
        "b": (2 * hidden,),
        "U": (hidden, 2 * hidden),
        "Wx": (dim, hidden),
        "bx": (hidden,),
        "Ux": (hidden, hidden),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ReadError(
                path,
                f"{prefix}{name} has the shape {arrays[name].shape}, not {shape}.",
                advice="Choose the word vectors that these weights were trained with.",
            )
    return {
        "weight_ih_l0": _concatenated(arrays["W"].T, arrays["Wx"].T),
        "weight_hh_l0": _concatenated(arrays["U"].T, arrays["Ux"].T),
        "bias_ih_l0": _concatenated(arrays["b"], arrays["bx"]),
        "bias_hh_l0": torch.zeros(3 * hidden),
    }


def _concatenated(first: Any, second: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(np.concatenate([first, second])))
