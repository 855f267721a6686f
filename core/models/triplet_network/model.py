"""The triplet network as a model: ``triplets-sen``, ``triplets-titles``, variants (Ein Dor et al. 2018, section 4).

A saved model is self-contained: the weights (float32) and the word vectors as they were rounded for training, so that
it gives the same vectors elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import torch
from numba import njit
from torch import Tensor, nn
from torch.nn import functional

from themescope.core.config import Config, config_from_dict, option
from themescope.core.errors import ConfigError, DataError
from themescope.core.models.artifact import (
    damaged,
    read_json,
    read_tensors,
    read_word_vectors,
    write_json,
    write_tensors,
    write_word_vectors,
)
from themescope.core.models.base import BaseModel, TrainedModel, bounded_rows, unit_length
from themescope.core.models.contrastive.config import DistillationConfig
from themescope.core.models.contrastive.sampling import Batch, split_articles
from themescope.core.models.contrastive.training import Examples, train_with_teacher
from themescope.core.models.networks import (
    digest_of_arrays,
    pick_device,
    pick_precision,
    seeded,
    thread_count,
    with_weights,
)
from themescope.core.models.triplet_network.config import BiLstmConfig, TripletNetConfig
from themescope.core.models.triplet_network.network import BiLstmAttention, Dropout, NetworkEncoder, triplet_data
from themescope.core.models.triplet_network.training import train
from themescope.core.text.languages import tokenize
from themescope.core.text.word_vectors import Storage, TokenIds, WordVectors, load_word_vectors, token_ids, word_ids
from themescope.core.types import SILENT, Corpus, Float32, Index, Report, Sentence, Split, SubReport, Vectors

_WEIGHTS = "network.safetensors"
_BLOCK = 4_096  # sentences tokenised at once
_CELLS = 4_096  # tokens encoded at once


class BiLstmModel(TrainedModel):
    """BiLSTM with attention over fixed word vectors; subclasses train it.

    Their settings are a ``BiLstmConfig`` with the fields device and threads.
    """

    inference: Precision = "fp32"
    """Numeric precision of embedding on a processor: fp32, or int8, which is faster."""
    _vectors: WordVectors | None = None
    _net: BiLstmAttention | None = None

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, 2·hidden) vectors; a sentence without tokens is the zero vector."""
        device = pick_device(self.config.device)
        net = self.network.to(device)
        out = np.zeros((len(sentences), net.width), np.float32)
        with thread_count(self.config.threads), torch.inference_mode():
            inference = Inference(net, self.inference) if device.type == "cpu" else None  # compiled on a processor
            for start in range(0, len(sentences), _BLOCK):
                tokens = word_ids((tokenize(s.text) for s in sentences[start : start + _BLOCK]), self.words)
                if inference is not None:
                    out[start : start + _BLOCK] = inference.encode(tokens, lambda: None)
                else:
                    encoder = NetworkEncoder(net, tokens, torch.float32)
                    vectors = encoder.encode(np.arange(len(tokens)), lambda: None, cells=_CELLS)
                    out[start : start + _BLOCK] = vectors.cpu().numpy()
        return out

    def _write(self, folder: Path) -> None:
        write_word_vectors(folder, self.words)
        write_tensors(folder / _WEIGHTS, self.weights)

    def _read(self, folder: Path) -> None:
        self.restore(read_word_vectors(folder), folder / _WEIGHTS)

    @property
    def words(self) -> WordVectors:
        """The word vectors that the network reads."""
        return self._fitted(self._vectors)

    @property
    def network(self) -> BiLstmAttention:
        """The trained network."""
        return self._fitted(self._net)

    @property
    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        """The weights of the network by name."""
        return {name: tensor.detach().cpu().numpy() for name, tensor in self.network.state_dict().items()}

    def restore(self, words: WordVectors, file: Path) -> None:
        """Take the word vectors and the weights in ``file``. Raises ``ArtifactError`` when they do not fit together."""
        self._vectors = words
        weights = {name: torch.from_numpy(array) for name, array in read_tensors(file).items()}
        try:
            self._net = self._network(weights)
        except RuntimeError as error:
            raise damaged(file.parent, f"{file.name}: {error}") from None

    def _read_words(self) -> WordVectors:
        """Load the word vectors that the settings name, as they are stored in the saved model."""
        storage: Storage = self.config.storage
        return load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None).stored_as(storage)

    def _network(self, weights: dict[str, Any]) -> BiLstmAttention:
        sizes = self.words.dim, self.config.hidden, self.config.attention
        return with_weights(lambda: BiLstmAttention(*sizes), weights)


_KEPT = ("hidden", "attention", "distance", "norm_bound", "word_vectors", "vocabulary_limit", "storage")
"""Settings that fine-tuning takes over from the base model."""


class TripletNet(BiLstmModel, config=TripletNetConfig):
    """BiLSTM with attention over fixed word vectors, evaluated with the distance it was trained with."""

    config: TripletNetConfig

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.triplets`` of the splits train and validation.

        With a triplet network in ``corpus.models``, fine-tune it: its word vectors, its sizes and its distance replace
        those of the settings. Raises ``DataError`` without triplets.
        """
        given = [corpus.triplets.get(split) for split in (Split.TRAIN, Split.VALIDATION)]
        if not all(given):
            raise DataError(
                "The triplet network needs training and validation triplets, because validation decides when training "
                "stops. Build a triplet set, or name one that has both."
            )
        report.progress(0, 1, "Reading word vectors")
        start = None
        if corpus.models:
            base = getattr(corpus.models[0], "sentence_network", None)
            if len(corpus.models) > 1 or not isinstance(base, TripletNet):
                raise DataError("The base model must be one trained triplet network. Name a single such model.")
            self.config = replace(self.config, **{name: getattr(base.config, name) for name in _KEPT})
            self._vectors, start = base.words, base.network.state_dict()
        else:
            self._vectors = self._read_words()
        training, validation = (
            triplet_data(texts, self.words, limit, self.seed, lambda: report.progress(0, 1, "Reading the sentences"))
            for texts, limit in zip(given, (0, self.config.validation_limit), strict=True)
            if texts is not None
        )
        trained = train(self.config, self.seed, training, validation, report, start)
        self.metrics, self.history = trained.metrics, trained.history
        self._net = self._network(trained.weights)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, 2·hidden) vectors; a sentence without tokens is the zero vector."""
        return bounded_rows(np.asarray(super().embed(sentences)), self.config.norm_bound)

    @property
    def distance(self) -> str:
        """The distance the network was trained with; the paper's is L1."""
        return self.config.measured

    @property
    def sentence_network(self) -> Self:
        """The network that fine-tuning starts from."""
        return self


# Fast encoding on a processor, several times as fast as packed sequences (``benchmarks/inference.py``)

Precision: TypeAlias = Literal["fp32", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
BATCH = 192
"""Number of sentences in a batch: enough for fast matrix products, few enough for the processor's cache."""

_Product: TypeAlias = Callable[[Tensor], Tensor]


class Inference:
    """A trained network prepared for encoding on a processor; with ``fp32`` equal to it up to rounding."""

    def __init__(self, net: BiLstmAttention, precision: Precision = "fp32") -> None:
        if precision not in PRECISIONS:
            raise ConfigError(f"Unknown precision {precision!r}. Choose {' or '.join(PRECISIONS)}.")
        self.net, self.precision = net, precision
        with torch.inference_mode():
            self._directions = tuple(_Direction(lstm, precision) for lstm in (net.onward, net.backward_))
            self._project = _product(net.project.weight, precision)
        self._bias, self._context = (w.detach().numpy() for w in (net.project.bias, net.context.weight[0]))

    def encode(self, tokens: TokenIds, tick: Callable[[], None]) -> Float32:
        """Return (n, width) float32 vectors; a sentence without tokens is zero. ``tick`` is called between batches."""
        vectors = np.zeros((len(tokens), self.net.width), np.float32)
        with torch.inference_mode():
            words = [direction.words(tokens) for direction in self._directions]
            order = np.argsort(-tokens.lengths, kind="stable")[: np.count_nonzero(tokens.lengths)]
            for start in range(0, len(order), BATCH):
                tick()
                rows = order[start : start + BATCH]
                vectors[rows] = self._batch(tokens, rows, words)
        return vectors

    def _batch(self, tokens: TokenIds, rows: Index, words: list[Float32]) -> Float32:
        """Return the vectors of non-empty sentences, which are in order of falling length."""
        lengths = tokens.lengths[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        ids = tokens.ids[np.arange(starts[-1]) + np.repeat(tokens.starts[rows] - starts[:-1], lengths)]
        states = np.empty((len(ids), self.net.width), np.float32)
        half = self.net.width // 2
        onward, backward = self._directions
        onward.run(words[0], ids, states[:, :half], starts[:-1], lengths, 1)
        backward.run(words[1], ids, states[:, half:], starts[1:] - 1, lengths, -1)
        projected = self._project(torch.from_numpy(states)).numpy()
        return np.asarray(attend(projected, self._bias, self._context, states, starts))


class _Direction:
    """One of the two LSTMs."""

    def __init__(self, lstm: nn.LSTM, precision: Precision) -> None:
        self._words = lstm.get_parameter("weight_ih_l0").detach().t()
        self._bias = (lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")).detach()
        self._recurrent = _product(lstm.get_parameter("weight_hh_l0"), precision)
        self._hidden = int(lstm.hidden_size)

    def words(self, tokens: TokenIds) -> Float32:
        """Return (words, 4·hidden) contributions of each distinct word to the gates."""
        return np.asarray(torch.addmm(self._bias, torch.from_numpy(tokens.table), self._words).numpy())

    def run(
        self, words: Float32, ids: npt.NDArray[np.int32], states: Float32, begin: Index, lengths: Index, stride: int
    ) -> None:
        """Fill ``states`` (tokens, hidden) from token ``begin`` of each sentence on, ``stride`` tokens per step."""
        h, c = (np.zeros((len(begin), self._hidden), np.float32) for _ in range(2))
        recurrent = np.zeros((len(begin), 4 * self._hidden), np.float32)
        # Sentences are in order of falling length, so those that still have a word at a step come first.
        going = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
        for step, count in enumerate(going.tolist()):
            if step:
                recurrent = self._recurrent(torch.from_numpy(h[:count])).numpy()
            places = begin[:count] + stride * step
            lstm_step(recurrent, words, ids[places], h, c, states, places)


def _product(weight: Tensor, precision: Precision) -> _Product:
    """Return the product of rows with the transpose of (out, in) ``weight``, in float32 or rounded to 8 bits.

    In 8 bits there is one scale for each output, and one for the rows in 7 bits, so that sums cannot overflow.
    """
    weight = weight.detach()
    if precision == "int8":
        if torch.backends.quantized.engine == "none" or not hasattr(torch, "quantize_per_channel"):
            raise ConfigError("This build of torch does not support int8. Choose precision fp32.")
        scales = (weight.abs().amax(1).double() / 127).clamp_min(1e-12)
        zeros = torch.zeros(len(scales), dtype=torch.long)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch announces that these functions will move to another package
            codes = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
            packed = torch.ops.quantized.linear_prepack(codes, None)
        return lambda rows: torch.ops.quantized.linear_dynamic(rows, packed, True)
    turned, kept = weight.t().contiguous(), torch.empty((0, len(weight)))

    def product(rows: Tensor) -> Tensor:
        """Multiply into a reused buffer: allocating one in each step takes half as long as the product."""
        nonlocal kept
        kept = kept if len(kept) >= len(rows) else torch.empty((len(rows), len(weight)))
        return torch.mm(rows, turned, out=kept[: len(rows)])

    return product


# tanh x ≈ x·P(x²)/Q(x²) on ±7.9, where it is ±1 in float32; the coefficients are those of the Eigen library. The error
# is a few units in the last place, and unlike the exact function it is vectorised.
_EDGE = np.float32(7.90531110763549805)
_P1, _P3, _P5, _P7 = map(
    np.float32, (4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08)
)
_P9, _P11, _P13 = map(np.float32, (-8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16))
_Q0, _Q2, _Q4, _Q6 = map(
    np.float32, (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06)
)
_HALF = np.float32(0.5)


@njit(cache=True, fastmath=True, error_model="numpy", inline="always")
def _tanh(x: Any) -> Any:
    x = min(max(x, -_EDGE), _EDGE)
    y = x * x
    p = _P1 + y * (_P3 + y * (_P5 + y * (_P7 + y * (_P9 + y * (_P11 + y * _P13)))))
    return x * p / (_Q0 + y * (_Q2 + y * (_Q4 + y * _Q6)))


@njit(cache=True, fastmath=True, error_model="numpy", inline="always")
def _sigmoid(x: Any) -> Any:
    return _HALF + _HALF * _tanh(_HALF * x)


# Every loop below begins at 0 and uses few arrays, because the compiler vectorises only such loops.
@njit(cache=True, fastmath=True, error_model="numpy")
def _sigmoids(gate: Any, word: Any) -> None:
    for j in range(len(gate)):
        gate[j] = _sigmoid(gate[j] + word[j])


@njit(cache=True, fastmath=True, error_model="numpy")
def _tanhs(gate: Any, word: Any) -> None:
    for j in range(len(gate)):
        gate[j] = _tanh(gate[j] + word[j])


@njit(cache=True, fastmath=True, error_model="numpy")
def _update_cell(i: Any, f: Any, g: Any, c: Any) -> None:
    for j in range(len(c)):
        c[j] = f[j] * c[j] + i[j] * g[j]


@njit(cache=True, fastmath=True, error_model="numpy")
def _update_hidden(o: Any, c: Any, h: Any) -> None:
    for j in range(len(h)):
        h[j] = o[j] * _tanh(c[j])


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def lstm_step(recurrent: Any, words: Any, ids: Any, h: Any, c: Any, states: Any, places: Any) -> None:
    """Compute one time step of ``m`` sentences: change ``recurrent``, ``h`` and ``c``, and write the states.

    Shapes: ``recurrent`` (m, 4·H) contribution of h to the gates, in torch's order i, f, g, o; ``words`` (V, 4·H)
    contribution of each distinct word, biases included, and ``ids`` (m,) its rows; ``h``, ``c`` (≥ m, H); ``states``
    (tokens, H) and ``places`` (m,) its rows. All are float32 except the ids and places.
    """
    n = h.shape[1]
    for row in range(len(ids)):
        gates, word = recurrent[row], words[ids[row]]
        _sigmoids(gates[: 2 * n], word[: 2 * n])
        _tanhs(gates[2 * n : 3 * n], word[2 * n : 3 * n])
        _sigmoids(gates[3 * n :], word[3 * n :])
        _update_cell(gates[:n], gates[n : 2 * n], gates[2 * n : 3 * n], c[row])
        _update_hidden(gates[3 * n :], c[row], h[row])
        states[places[row]] = h[row]


@njit(cache=True, fastmath=True, error_model="numpy")
def _score(row: Any, bias: Any, context: Any) -> Any:
    total = np.float32(0)
    for j in range(len(row)):
        total += context[j] * _tanh(row[j] + bias[j])
    return total


@njit(cache=True, fastmath=True, error_model="numpy")
def _add(total: Any, weight: Any, row: Any) -> None:
    for j in range(len(total)):
        total[j] += weight * row[j]


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def attend(projected: Any, bias: Any, context: Any, states: Any, starts: Any) -> Any:
    """Return (n, width) means of each sentence's ``states``, weighted by softmax(context · tanh(projected + bias)).

    Shapes: ``projected`` (tokens, A), ``bias`` and ``context`` (A,), ``states`` (tokens, width); sentence i has the
    tokens ``starts[i]:starts[i + 1]``, at least one.
    """
    vectors = np.zeros((len(starts) - 1, states.shape[1]), np.float32)
    scores = np.empty(len(states), np.float32)
    for i in range(len(vectors)):
        first, end = starts[i], starts[i + 1]
        for t in range(first, end):
            scores[t] = _score(projected[t], bias, context)
        highest, total = scores[first:end].max(), np.float32(0)
        for t in range(first, end):
            scores[t] = np.exp(scores[t] - highest)
            total += scores[t]
        for t in range(first, end):
            _add(vectors[i], scores[t] / total, states[t])
    return vectors


# Contrastive training


_READ = 0.05  # share of the progress after reading the sentences


@dataclass(frozen=True)
class ContrastiveNetConfig(BiLstmConfig, DistillationConfig):
    """Settings of ``triplets-sen-contrastive``."""


class ContrastiveNet(BiLstmModel, config=ContrastiveNetConfig):
    """BiLSTM with attention over fixed word vectors, cosine distance."""

    config: ContrastiveNetConfig

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation; a model of ``corpus`` is the teacher.

        Raises ``DataError`` without sections, and for a teacher with sparse vectors.
        """
        parts = split_articles(corpus, self.config, self.seed, "This network")
        report.progress(0, 1, "Reading word vectors")
        self._vectors = self._read_words()
        device = pick_device(self.config.device)
        with seeded(self.seed):
            net = BiLstmAttention(self._vectors.dim, self.config.hidden, self.config.attention).to(device)
        drop = Dropout(self.config.dropout_rate, self.config.dropout_sites, self.config.mask)
        report.progress(0, 1, "Reading the sentences")
        examples = []
        for sentences, articles in parts:
            tokens = token_ids((sentences[i].text for i in articles.sentences.tolist()), self._vectors)
            encoder = NetworkEncoder(net, tokens, pick_precision(self.config.precision, device))
            digest = digest_of_arrays(tokens.ids, tokens.starts, tokens.table, articles.sections)
            examples.append(Examples(articles, partial(_similarities, encoder, drop), digest))
        teaching, stage = (corpus, parts[0][0]), SubReport(report, _READ, 1.0)
        training, validation = examples
        trained = train_with_teacher(self.config, self.seed, net, training, validation, teaching, stage)
        self._net = net.cpu().eval()
        self.metrics, self.history = trained.metrics, trained.history
        return self


def _similarities(encoder: NetworkEncoder, drop: Dropout, batch: Batch) -> Tensor:
    """Return the (m, m) cosines of the sentences of a batch; dropout is applied in training mode only."""
    training = encoder.net.training
    if training:
        drop.reseed(int(torch.randint(2**31, ())), 0)  # the training loop seeds torch in every step
    vectors = functional.normalize(encoder.encode(batch.rows, lambda: None, drop if training else None), dim=1)
    return vectors @ vectors.T


# Concatenation of two triplet networks: ``triplets-sen-titles`` (Ein Dor et al. 2018, section 5.1)

_COMPONENTS = ("sentences", "titles")
_DETAILS = "components.json"
_DETAILS_OF_0_1 = "halves.json"  # name of the same file in models that version 0.1 saved


@dataclass(frozen=True)
class ConcatenatedConfig(Config):
    """Settings of ``triplets-sen-titles``."""

    renamed: ClassVar[dict[str, str]] = {"unit_halves": "unit_components"}

    unit_components: bool = option(
        False,
        "Scale the vector of each network to length 1, so that both have the same weight; otherwise a network "
        "weighs as much as its vectors are long.",
    )


class ConcatenatedModel(BaseModel, config=ConcatenatedConfig):
    """Two trained triplet networks whose vectors are concatenated; :meth:`fit` takes them from ``corpus.models``."""

    config: ConcatenatedConfig
    _components: tuple[TripletNet, ...] = ()

    @property
    def inference(self) -> Precision:
        """Numeric precision of both networks on a processor, see :attr:`TripletNet.inference`."""
        return self.components[0].inference

    @inference.setter
    def inference(self, precision: Precision) -> None:
        for component in self.components:
            component.inference = precision

    @property
    def metrics(self) -> dict[str, float]:
        """Training metrics of both networks, prefixed with the name of the component."""
        named = zip(_COMPONENTS, self._components, strict=False)
        return {f"{name}: {key}": value for name, net in named for key, value in net.metrics.items()}

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the two trained networks in ``corpus.models``: the one on sentences, then the one on titles."""
        networks = [model for model in corpus.models if isinstance(model, TripletNet)]
        if len(networks) != len(_COMPONENTS) or len(corpus.models) != len(_COMPONENTS):
            raise DataError(
                "triplets-sen-titles concatenates two trained triplet networks. Name the model trained on sentences, "
                "then the model trained on titles."
            )
        for network in networks:
            report.progress(0, 1, f"Concatenating networks, {len(network.words):,} words")
        self._components = tuple(networks)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, sum of both dimensions) vectors; a sentence without tokens is the zero vector."""
        parts = [np.asarray(component.embed(sentences)) for component in self.components]
        return np.concatenate([unit_length(part) for part in parts] if self.config.unit_components else parts, axis=1)

    @property
    def distance(self) -> str:
        """The distance both networks were trained with; cosine where they differ."""
        kinds = {component.distance for component in self.components}
        return kinds.pop() if len(kinds) == 1 else "cosine"

    def _write(self, folder: Path) -> None:
        """Write both networks; word vectors that both share are written once."""
        first, second = (net.words for net in self.components)
        shared = first is second or (
            all(np.array_equal(getattr(first, part), getattr(second, part)) for part in ("table", "scales", "rows"))
            and first.spread == second.spread
            and [*first.words] == [*second.words]
        )
        write_word_vectors(folder, first)
        if not shared:
            write_word_vectors(folder, second, f"{_COMPONENTS[1]}-")
        details: dict[str, Any] = {"shared_words": shared}
        for name, net in zip(_COMPONENTS, self.components, strict=True):
            write_tensors(folder / f"{name}.safetensors", net.weights)
            config = net.config.without_folders().to_dict()
            details[name] = {"config": config, "seed": net.seed, "metrics": net.metrics, "history": net.history}
        write_json(folder / _DETAILS, details)

    def _read(self, folder: Path) -> None:
        file = _DETAILS_OF_0_1 if (folder / _DETAILS_OF_0_1).is_file() else _DETAILS
        details: Any = read_json(folder / file)
        words, components = read_word_vectors(folder), []
        for position, name in enumerate(_COMPONENTS):
            try:
                own = details[name]
                net = TripletNet(config_from_dict(TripletNetConfig, own["config"]), int(own["seed"]))
                net.metrics, net.history = dict(own["metrics"]), list(own["history"])
            except (KeyError, TypeError, ValueError, ConfigError) as error:
                raise damaged(folder, f"{file}: {error}") from None
            if position and not details.get("shared_words"):
                words = read_word_vectors(folder, f"{name}-")
            net.restore(words, folder / f"{name}.safetensors")
            components.append(net)
        self._components = tuple(components)

    @property
    def sentence_network(self) -> TripletNet:
        """The network on sentences, which can be the base model of another training."""
        return self.components[0]

    @property
    def components(self) -> tuple[TripletNet, ...]:
        """The network on sentences and the network on titles."""
        return self._fitted(self._components or None)
