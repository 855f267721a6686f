"""The recurrent models ``skip-thought``, ``sae`` and ``sdae``. Cosine distance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.errors import DataError, TrainingError
from themescope.core.models.artifact import damaged, read_tensors, read_word_vectors, write_tensors, write_word_vectors
from themescope.core.models.base import TrainedModel
from themescope.core.models.networks import TrainingLoop, Weights, done_apart, pick_device, seeded, thread_count
from themescope.core.models.recurrent.data import (
    END,
    SPECIAL,
    ExpandedWords,
    GruDecoder,
    GruEncoder,
    RecurrentTrainingConfig,
    SaeConfig,
    SdaeConfig,
    SkipData,
    SkipThoughtConfig,
    WordRows,
    encode_tokens,
    expanded,
    gru_encoder,
    read_recurrent_weights,
    skip_data,
    word_rows,
)
from themescope.core.models.triplet_network.network import Dropout
from themescope.core.paths import expand_home
from themescope.core.text.languages import content_words
from themescope.core.text.word_vectors import Storage, TokenIds, WordVectors, load_word_vectors, token_ids, word_ids
from themescope.core.types import SILENT, Corpus, Index, Report, Sentence, Vectors

_WEIGHTS, _OWN = "encoder.safetensors", "learned-"
_BLOCK = 4_096  # sentences tokenised at once


class _RecurrentModel(TrainedModel):
    """A GRU encoder and the words it reads; the vector of a sentence is the last state of each direction."""

    _net: GruEncoder | None = None

    @abstractmethod
    def _tokens(self, sentences: Sequence[Sentence]) -> TokenIds:
        """Return the known words of each sentence."""

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, width) last states; a sentence without known words is the zero vector."""
        net, device = self._fitted(self._net), pick_device(self.config.device)
        net.to(device)
        out = np.zeros((len(sentences), net.width), np.float32)
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(sentences), _BLOCK)]

        def encode(rows: slice) -> None:
            encode_tokens(net, self._tokens(sentences[rows]), out[rows])

        done_apart(encode, blocks, device, self.config.threads)
        return out

    def _write_net(self, folder: Path, **tensors: Any) -> None:
        """Write the weights of the encoder and further ``tensors``."""
        weights = {name: t.detach().cpu().numpy() for name, t in self._fitted(self._net).state_dict().items()}
        write_tensors(folder / _WEIGHTS, weights | tensors)

    def _read_net(self, folder: Path, *names: str) -> list[Any]:
        """Read the encoder; return the tensors ``names`` that were written with its weights."""
        tensors = read_tensors(folder / _WEIGHTS, ("onward.weight_ih_l0", *names))
        others = [tensors.pop(name) for name in names]
        try:
            self._net = gru_encoder({name: torch.from_numpy(array) for name, array in tensors.items()})
        except RuntimeError as error:
            raise damaged(folder, f"{_WEIGHTS}: {error}") from None
        return others

    def _stored(self, vectors: WordVectors) -> WordVectors:
        storage: Storage = self.config.storage
        return vectors.stored_as(storage)


class Sae(_RecurrentModel, config=SaeConfig):
    """Sequential autoencoder: a GRU trained to encode the whole sentence (Hill, Cho and Korhonen 2016, section 2).

    Words are lower-cased without punctuation and not stemmed; a word that was not learned is ignored.
    """

    config: SaeConfig
    _words: WordVectors

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sentences``, in any order and from any number of texts."""
        if not len(corpus.sentences):
            raise DataError("A sequential autoencoder needs the sentences of a corpus, but this corpus has none.")
        tick, words = partial(report.progress, 0, 1, "Reading the sentences"), map(self._words_of, corpus.sentences)
        data = word_rows(words, self.config.vocabulary, tick, least=self.config.min_tokens)
        trained = train_autoencoder(self.config, self.seed, data, report)
        self.metrics = trained.metrics
        self._words = self._stored(WordVectors(data.words, trained.table))
        self._net = gru_encoder(trained.weights)
        return self

    def _write(self, folder: Path) -> None:
        self._write_net(folder)
        write_word_vectors(folder, self._words)

    def _read(self, folder: Path) -> None:
        self._read_net(folder)
        self._words = read_word_vectors(folder)

    def _tokens(self, sentences: Sequence[Sentence]) -> TokenIds:
        return word_ids(map(self._words_of, sentences), self._words, unknown=False)

    def _words_of(self, sentence: Sentence) -> list[str]:
        return content_words(sentence.text, stemmed=False)[: self.config.max_tokens]


class Sdae(Sae, config=SdaeConfig):
    """Sequential denoising autoencoder: trained to reconstruct sentences with deleted and swapped words."""


class SkipThought(_RecurrentModel, config=SkipThoughtConfig):
    """Skip-Thought: a GRU trained to predict neighbouring sentences (Kiros et al. 2015, section 2).

    It is trained on consecutive sentences of a corpus, or built from published weights
    (:func:`themescope.core.models.recurrent.data.read_recurrent_weights`).
    """

    config: SkipThoughtConfig
    _words: ExpandedWords

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sentences``, or read the weights that the settings name."""
        report.progress(0, 1, "Reading word vectors")
        table = load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None)
        if self.config.weights:
            self._net = read_recurrent_weights(expand_home(self.config.weights), table.dim)
            nothing = WordVectors([], np.zeros((0, table.dim), np.float32))
            identity, shift = np.eye(table.dim, dtype=np.float32), np.zeros(table.dim, np.float32)
            self._words = ExpandedWords(nothing, self._stored(table), identity, shift)
            return self
        if not len(corpus.sentences):
            raise DataError("skip-thought needs consecutive sentences of a corpus, but this corpus has none.")
        vocabulary, most = self.config.vocabulary, self.config.max_tokens
        data = skip_data(corpus.sentences, vocabulary, most, partial(report.progress, 0, 1, "Reading the sentences"))
        trained = train_skip(self.config, self.seed, data, report)
        self.metrics = trained.metrics
        words = expanded(WordVectors(data.words, trained.table), table)
        self._words = ExpandedWords(self._stored(words.own), self._stored(words.table), words.map, words.shift)
        self._net = gru_encoder(trained.weights)
        return self

    def _write(self, folder: Path) -> None:
        self._fitted(self._net)  # raises before the first fit
        self._write_net(folder, map=self._words.map, shift=self._words.shift)
        write_word_vectors(folder, self._words.own, _OWN)
        write_word_vectors(folder, self._words.table)

    def _read(self, folder: Path) -> None:
        map, shift = self._read_net(folder, "map", "shift")
        self._words = ExpandedWords(read_word_vectors(folder, _OWN), read_word_vectors(folder), map, shift)

    def _tokens(self, sentences: Sequence[Sentence]) -> TokenIds:
        lowercase = self.config.lowercase or not self.config.weights
        return token_ids((s.text.lower() if lowercase else s.text for s in sentences), self._words, unknown=False)


# Networks, losses and training of the sequential autoencoders and of Skip-Thought: Adam and sampled softmax

_FLATTENED = 0.75  # words are sampled with probability ∝ frequency to this power


@dataclass(frozen=True)
class TrainedEncoder:
    """A trained encoder, its word vectors and training metrics."""

    weights: dict[str, Tensor]
    table: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    """(words, word_dim) vectors of the learned words."""
    metrics: dict[str, float]


class WordNet(nn.Module):
    """An encoder and its table of word vectors; subclasses add decoders."""

    def __init__(self, config: RecurrentTrainingConfig, rows: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, config.word_dim)
        nn.init.normal_(self.table.weight, std=0.1)
        self.encoder = GruEncoder(config.word_dim, config.hidden)


def sampled_softmax(logits: Tensor, drawn_logits: Tensor, hits: Tensor) -> Tensor:
    """Return (n,) −log softmax of (n,) true logits against (n, s) sampled ones (Jean et al. 2015, section 3).

    The logarithm of the expected number of samples of a word has been subtracted from each logit. ``hits`` (n, s) marks
    samples that are the true word.
    """
    others = drawn_logits.masked_fill(hits, -torch.inf)
    return torch.logsumexp(torch.cat([logits.unsqueeze(1), others], dim=1), dim=1) - logits


class SampledWords:
    """Words sampled in proportion to frequency^0.75; the sample depends only on (seed, step)."""

    def __init__(self, counts: Index, negatives: int, seed: int, device: torch.device) -> None:
        share = counts.astype(np.float64) ** _FLATTENED
        share /= share.sum()
        self._seed, self._negatives, self._device = seed, negatives, device
        self._cumulated = np.cumsum(share)
        self._expected = torch.from_numpy(np.log(np.maximum(share * negatives, 1e-30)).astype(np.float32)).to(device)

    def at(self, step: int) -> Tensor:
        """Return (negatives,) rows for one training step."""
        uniform = np.random.default_rng([self._seed, step, 1]).random(self._negatives)
        rows = np.minimum(np.searchsorted(self._cumulated, uniform), len(self._cumulated) - 1)
        return torch.from_numpy(rows).to(self._device)

    def loss(self, states: Tensor, wanted: Tensor, drawn: Tensor, output: torch.nn.Embedding, bias: Tensor) -> Tensor:
        """Return the sum of −log p of (n,) ``wanted`` rows, given (n, dim) states and the sampled rows ``drawn``."""
        true = (states * output(wanted)).sum(dim=1) + bias[wanted] - self._expected[wanted]
        others = states @ output(drawn).T + bias[drawn] - self._expected[drawn]
        return sampled_softmax(true, others, wanted.unsqueeze(1) == drawn).sum()


def shifted(ids: Tensor, lengths: Tensor, table: torch.nn.Embedding) -> tuple[Tensor, Tensor, Tensor]:
    """Return input and targets of a decoder for (n, t) padded sentences, including their ends.

    These are (n, t + 1, dim) vectors of the preceding words (zeros before the first), (n, t + 1) target rows, and an
    (n, t + 1) mask of the targets that are not padding.
    """
    before = torch.nn.functional.pad(table(ids), (0, 0, 1, 0))
    after = torch.nn.functional.pad(ids, (0, 1), value=END)
    real = torch.arange(after.shape[1], device=ids.device) <= lengths.unsqueeze(1)
    return before, after, real


class WordTraining(TrainingLoop[Index]):
    """One training of an encoder; subclasses add its decoders."""

    points: ClassVar[int] = 40
    config: RecurrentTrainingConfig
    data: WordRows
    net: Any

    def __init__(self, config: RecurrentTrainingConfig, seed: int, data: WordRows, report: Report) -> None:
        digests = [len(data.words), data.ids[:10_000].tolist(), len(data.ids)]
        super().__init__(config, seed, digests, report, rate=config.learning_rate)
        self.config, self.data = config, data
        self.device = pick_device(config.device)
        with seeded(seed):
            self.net = self.network(SPECIAL + len(data.words)).to(self.device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=config.learning_rate)
        self.drawn = SampledWords(data.counts, config.negatives, seed, self.device)

    @abstractmethod
    def network(self, rows: int) -> WordNet:
        """Return a fresh network for ``rows`` words; the random generator is already seeded."""

    @abstractmethod
    def loss(self, rows: Index) -> tuple[Tensor, int]:
        """Return the sum of −log p over the words to predict for the sentences ``rows``, and the number of words."""

    def run(self) -> TrainedEncoder:
        """Train to the end and return the encoder."""
        with thread_count(self.config.threads):
            self._run()
        weights = {name: t.detach().cpu().clone() for name, t in self.net.encoder.state_dict().items()}
        table = self.net.table.weight.detach().cpu().numpy()[SPECIAL:].copy()
        metrics = {
            "loss": self.at.loss_sum / max(self.at.loss_count, 1),
            "steps": float(self.at.step),
            "training sentences": float(len(self.data.usable)),
            "training seconds": self._seconds(),
            "sentences/s": self._speed(),
        }
        return TrainedEncoder(weights, table, metrics)

    def tensors(self, ids: Index, lengths: Index) -> tuple[Tensor, Tensor]:
        """Return padded ids and lengths on the device of the network."""
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device)

    def _batches_of(self, epoch: int) -> list[Index]:
        return self.data.batches(self.config.batch_size, self.config.sentences_per_epoch, self.seed, epoch)

    def _step(self, batch: Index, batches: int) -> None:
        self._tick()
        total, words = self.loss(batch)
        self._tick()
        self._descend(total / words, self.net.parameters(), len(batch))

    def _point(self, loss: float, epoch: float) -> None:
        super()._point(loss, epoch)
        self.at = replace(self.at, loss_sum=loss, loss_count=1)

    def _done(self) -> tuple[float, float]:
        usable, config = len(self.data.usable), self.config
        return self.at.triplets, min(config.sentences_per_epoch or usable, usable) * config.epochs

    def _weights(self) -> tuple[Weights, Weights]:
        return self.net.state_dict(), {}

    def _restore(self, weights: Weights, best: Weights) -> None:
        self.net.load_state_dict(dict(weights))


_SITE = "words"
_NOISE = 2  # seeded with (seed, step, 2), so that noise and sampled words are independent


class AutoencoderNet(WordNet):
    """Encoder and one decoder, whose states are projected to the dimensions of the shared word vectors."""

    def __init__(self, config: SaeConfig, rows: int) -> None:
        super().__init__(config, rows)
        self.decoder = GruDecoder(config.word_dim, self.encoder.width, config.decoder)
        self.project = nn.Linear(config.decoder, config.word_dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(rows))


def corrupted(
    ids: Index, lengths: Index, deleted: float, swapped: float, random: np.random.Generator
) -> tuple[Index, Index]:
    """Return (n, t) padded ids and (n,) lengths after adding noise N(S | p_o, p_x).

    Each word is deleted with probability ``deleted``; then each of the remaining pairs (1st, 2nd), (3rd, 4th), … is
    swapped with probability ``swapped``. Padding is END.
    """
    n, steps = ids.shape
    places = np.arange(steps)
    kept = (places < lengths[:, None]) & (random.random((n, steps)) >= deleted)
    order = np.argsort(~kept, axis=1, kind="stable")  # kept words move to the front, in their order
    left = kept.sum(axis=1)
    first = places[: steps // 2 * 2 : 2]
    turned = (random.random((n, len(first))) < swapped) & (first + 1 < left[:, None])
    seen = np.tile(places, (n, 1))
    seen[:, first] += turned
    seen[:, first + 1] -= turned
    moved = np.take_along_axis(np.take_along_axis(ids, order, axis=1), seen, axis=1)
    return np.where(places < left[:, None], moved, END), left


def train_autoencoder(config: SaeConfig, seed: int, data: WordRows, report: Report) -> TrainedEncoder:
    """Train an autoencoder on single sentences; resumes from the checkpoint folder of ``report``.

    Raises ``TrainingError`` when no sentence is long enough, or the loss is no longer finite.
    """
    if not len(data.usable):
        raise TrainingError(
            f"No sentence has {config.min_tokens} words or more. Give the method more text, or lower min_tokens."
        )
    return _AutoencoderTraining(config, seed, data, report).run()


class _AutoencoderTraining(WordTraining):
    config: SaeConfig

    def __init__(self, config: SaeConfig, seed: int, data: WordRows, report: Report) -> None:
        super().__init__(config, seed, data, report)
        self.drop = Dropout(config.dropout_rate, (_SITE,), "per-token")

    def network(self, rows: int) -> AutoencoderNet:
        return AutoencoderNet(self.config, rows)

    def loss(self, rows: Index) -> tuple[Tensor, int]:
        net, step = self.net, self.at.step
        self.drop.reseed(self.seed, step)
        clean, lengths = self.data.padded(rows)
        random = np.random.default_rng([self.seed, step, _NOISE])
        seen, left = self.tensors(*corrupted(clean, lengths, *self.config.noise, random))
        encoded = net.encoder(self._masked(net.table(seen)), left)
        self._tick()
        before, after, real = shifted(*self.tensors(clean, lengths), net.table)
        states = net.project(net.decoder(self._masked(before), encoded)[real])
        total = self.drawn.loss(states, after[real], self.drawn.at(step), net.table, net.bias)
        return total, int(lengths.sum()) + len(rows)

    def _masked(self, words: Tensor) -> Tensor:
        mask = self.drop.at(_SITE)
        return words if mask is None else mask(words)


class SkipNet(WordNet):
    """Encoder, decoders of the previous and of the next sentence, and their common softmax."""

    def __init__(self, config: RecurrentTrainingConfig, rows: int) -> None:
        super().__init__(config, rows)
        width = self.encoder.width
        self.decoders = nn.ModuleList([GruDecoder(config.word_dim, width, config.decoder) for _ in range(2)])
        self.output = nn.Embedding(rows, config.decoder)
        nn.init.normal_(self.output.weight, std=0.1)
        self.bias = nn.Parameter(torch.zeros(rows))


def train_skip(config: RecurrentTrainingConfig, seed: int, data: SkipData, report: Report) -> TrainedEncoder:
    """Train Skip-Thought on consecutive sentences; resumes from the checkpoint folder of ``report``.

    Raises ``TrainingError`` when no sentence has a neighbour, or the loss is no longer finite.
    """
    if not len(data.usable):
        raise TrainingError("No article has two consecutive sentences. Skip-Thought needs running text.")
    return _SkipTraining(config, seed, data, report).run()


class _SkipTraining(WordTraining):
    data: SkipData

    def network(self, rows: int) -> SkipNet:
        return SkipNet(self.config, rows)

    def loss(self, rows: Index) -> tuple[Tensor, int]:
        ids, lengths = self.tensors(*self.data.padded(rows))
        encoded = self.net.encoder(self.net.table(ids), lengths)
        drawn = self.drawn.at(self.at.step)
        total, words = encoded.new_zeros(()), 0
        for side, decoder in enumerate(self.net.decoders):
            has = np.flatnonzero(self.data.neighbours[rows, side] >= 0)
            if len(has):
                self._tick()
                targets = self.tensors(*self.data.padded(self.data.neighbours[rows[has], side]))
                before, after, real = shifted(*targets, self.net.table)
                states = decoder(before, encoded[torch.from_numpy(has).to(self.device)])[real]
                total = total + self.drawn.loss(states, after[real], drawn, self.net.output, self.net.bias)
                words += int(targets[1].sum()) + len(has)
        return total, words
