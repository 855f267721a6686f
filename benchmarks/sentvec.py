"""Compare the training speed of CON-S2V (content only and all three steps) with gensim's PV-DBOW.

    python -m benchmarks.sentvec --sentences 25000 --epochs 3 --repeats 3 --threads 1 2
    python -m benchmarks.sentvec --growth 25000 100000 400000

Both use 300 dimensions, 5 negatives, subsampling 1e-4 and every word; building the vocabulary is not timed. Runs of
both alternate, and medians are compared. The text is synthetic (25 words per sentence, a Zipf distribution over 30,000
words, 12 sentences per document).
Goals: content only at least 1.4 / 1.6 times gensim at 1 / 2 threads, all three steps at least 1.0 times at 2 threads.
``--growth`` measures time and memory of all three steps for increasing numbers of sentences.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
import psutil
from gensim.models.doc2vec import Doc2Vec, TaggedDocument

from benchmarks._shared import timed
from themescope.core.models.con_s2v.config import SentVecConfig
from themescope.core.models.con_s2v.text import CorpusVocabulary, EncodedText, Graph, discourse_graph
from themescope.core.models.con_s2v.training import learn_sentences
from themescope.core.types import SILENT, NullReport

DIM, NEGATIVES, SUBSAMPLING = 300, 5, 1e-4
_DOCUMENT_LENGTH = 12

Times = tuple[float, float]  # wall-clock seconds, CPU seconds


def synthetic(sentences: int, words: int = 30_000, length: int = 25, seed: int = 0) -> EncodedText:
    """Return a text whose words follow Zipf's law."""
    random = np.random.default_rng(seed)
    lengths = np.maximum(random.poisson(length, sentences), 3)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    share = 1 / np.arange(1, words + 1)
    ids = random.choice(words, starts[-1], p=share / share.sum()).astype(np.int32)
    counts = np.bincount(ids, minlength=words).astype(np.int64)
    rows = np.arange(sentences)
    articles, positions = np.divmod(rows, _DOCUMENT_LENGTH)
    vocabulary = CorpusVocabulary([f"w{i}" for i in range(words)], counts)
    return EncodedText(vocabulary, ids, starts, rows, articles, positions)


def first(text: EncodedText, sentences: int) -> EncodedText:
    """Return the first sentences of a text, with its whole vocabulary."""
    end = int(text.starts[sentences])
    counts = np.bincount(text.ids[:end], minlength=len(text.vocabulary)).astype(np.int64)
    return EncodedText(
        CorpusVocabulary(text.vocabulary.words, counts), text.ids[:end], text.starts[: sentences + 1],
        text.rows[:sentences], text.articles[:sentences], text.positions[:sentences],
    )  # fmt: skip


class Memory(NullReport):
    """Progress report that records the peak memory of the process during training."""

    def __init__(self) -> None:
        super().__init__()
        self.baseline = self.peak = psutil.Process().memory_info().rss

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Update the peak memory."""
        self.peak = max(self.peak, psutil.Process().memory_info().rss)


def train(
    text: EncodedText, graph: Graph, epochs: int, threads: int, context: bool, report: NullReport | None = None
) -> Times:
    """Train CON-S2V with the compiled loop, and return the time."""
    config = SentVecConfig(
        dim=DIM, epochs=epochs, negatives=NEGATIVES, subsampling=SUBSAMPLING, threads=threads,
        neighbours=context, proximity=context,
    )  # fmt: skip
    return timed(lambda: learn_sentences(config, text, graph, 0, report or SILENT))[1:]


def gensim_trainer(text: EncodedText) -> Callable[[int, int], Times]:
    """Return a function (epochs, threads) that trains gensim's PV-DBOW on the same text and returns the time."""
    words = text.vocabulary.words
    documents = [
        TaggedDocument([words[w] for w in text.ids[text.starts[i] : text.starts[i + 1]]], [i]) for i in range(len(text))
    ]

    def run(epochs: int, threads: int) -> Times:
        model = Doc2Vec(
            dm=0, vector_size=DIM, negative=NEGATIVES, sample=SUBSAMPLING, min_count=0, workers=threads, epochs=epochs
        )
        model.build_vocab(documents)
        return timed(lambda: model.train(documents, total_examples=len(documents), epochs=epochs))[1:]

    return run


def compare(text: EncodedText, epochs: int, repeats: int, threads: Sequence[int]) -> None:
    """Print words per second of every method at each number of threads, and the ratio to gensim."""
    graph, gensim = discourse_graph(text.articles, text.positions), gensim_trainer(text)
    words = text.words * epochs
    print(f"{len(text):,} sentences, {text.words:,} words, {epochs} epochs, {DIM} dimensions, {NEGATIVES} negatives")
    for count in threads:
        methods: dict[str, Callable[[int], Times]] = {
            "gensim PV-DBOW": lambda count: gensim(epochs, count),
            "content": lambda count: train(text, graph, epochs, count, context=False),
            "three steps": lambda count: train(text, graph, epochs, count, context=True),
        }
        seconds = {name: np.zeros((repeats, 2)) for name in methods}
        for repeat in range(repeats):
            for name, run in methods.items():
                seconds[name][repeat] = run(count)
        medians = {name: np.median(times, axis=0) for name, times in seconds.items()}
        for name, (wall, processor) in medians.items():
            by_wall, by_processor = medians["gensim PV-DBOW"] / medians[name]
            print(
                f"{count} thread{'s' * (count > 1)}  {name:16}{words / wall:12,.0f} words/s"
                f"{words / processor:12,.0f} words per CPU second   "
                f"gensim x {by_wall:.2f} (wall clock), {by_processor:.2f} (CPU)"
            )


def growth(text: EncodedText, sizes: Sequence[int], threads: int) -> None:
    """Print time and memory of one epoch of all three steps for each number of sentences."""
    for size in sizes:
        part = first(text, size)
        graph = discourse_graph(part.articles, part.positions)
        memory = Memory()
        wall, processor = train(part, graph, 1, threads, context=True, report=memory)
        used = (memory.peak - memory.baseline) / 2**20
        tables = 4 * DIM * (2 * size + len(part.vocabulary)) / 2**20
        print(
            f"{size:9,} sentences {part.words:12,} words: {wall:8.2f} s, {part.words / wall:10,.0f} words/s, "
            f"{part.words / processor:10,.0f} words per CPU second, {used:,.0f} MiB peak "
            f"(parameters {tables:,.0f} MiB)"
        )


def main() -> None:
    """Print the comparison and the measurements of ``--growth``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=25_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--growth", type=int, nargs="*", default=[])
    args = parser.parse_args()
    text = synthetic(max([args.sentences, *args.growth]))
    compared = first(text, args.sentences)
    for context in (False, True):  # compile before anything is timed
        train(first(compared, 100), discourse_graph(compared.articles[:100], compared.positions[:100]), 1, 1, context)
    if args.threads:
        compare(compared, args.epochs, args.repeats, args.threads)
    growth(text, args.growth, max(args.threads or [1]))


if __name__ == "__main__":
    main()
