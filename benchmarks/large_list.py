"""Themes of a list of 100,000 sentences: time and memory, beside MiniBatchKMeans and BERTopic on the same vectors.

``python -m benchmarks.large_list [FILES…] [--count 100000] [--model static-wikipedia]`` takes different sentences from
compressed JSON lines of articles, or the texts of lists (``LISTS.json`` of `benchmarks.lists`), or makes sentences of
random words. Printed are seconds of the wall and of the processor (all threads), and the highest memory of the process
so far: after loading and embedding (the texts of lists for lists), after ``find_themes``, after MiniBatchKMeans with
the same number of clusters, and up to 20,000 sentences after BERTopic with its defaults, on the base vectors of lists.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from benchmarks._shared import T, timed
from themescope.core.projection import UmapConfig, laid_out
from themescope.core.readers import REGISTRY as READERS
from themescope.core.sentence_model import load, vectors_of
from themescope.core.tasks.themes import ThemesConfig
from themescope.core.text.splitting import SentenceSplitter
from themescope.core.themes import themes_of
from themescope.core.types import SILENT


def sentences(files: Sequence[Path], count: int) -> list[str]:
    """Return ``count`` different sentences of five words or more from articles; without files, of random words."""
    if not files:
        words = np.random.default_rng(0).zipf(1.2, (count, 15)) % 30_000
        return [" ".join(f"w{word}" for word in row) for row in words.tolist()]
    if files[0].suffix == ".json":
        every = (text for _, texts, _ in json.loads(files[0].read_text("utf-8")) for text in texts)
        return list(islice(dict.fromkeys(every), count))
    splitter = SentenceSplitter("en")
    articles = (article for file in files for article in READERS.build("jsonl").read(file, SILENT))
    paragraphs = (part.text for article in articles for section in article.sections for part in section.paragraphs)
    found = (sentence for text in paragraphs for sentence in splitter.split(text) if len(sentence.split()) >= 5)
    return list(islice(dict.fromkeys(islice(found, 2 * count)), count))


def measured(what: str, function: Callable[[], T]) -> T:
    """Call a function; print its times and the highest memory of the process so far."""
    result, wall, processor = timed(function)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{what}: {wall:.1f} s, {processor:.1f} s of the processor, {memory:.2f} GiB at most", flush=True)
    return result


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--model", default="static-wikipedia")
    args = parser.parse_args()
    texts = sentences(args.files, args.count)
    model, listed = load(args.model), bool(args.files) and args.files[0].suffix == ".json"
    model = model.for_lists() if listed else model
    print(f"{len(texts):,} sentences, {args.model}")
    laid_out(np.eye(100, dtype=np.float32), UmapConfig(), 0, SILENT)  # compiles its loops, or reads them
    vectors = measured("loaded and embedded", lambda: np.asarray(vectors_of(model, texts), np.float32))
    themes = measured("find_themes", lambda: themes_of(texts, model, ThemesConfig(), 0, SILENT, vectors=vectors))
    k = len(themes.themes)
    measured(f"MiniBatchKMeans, k = {k}", lambda: MiniBatchKMeans(k, n_init=3, random_state=0).fit(vectors))
    if len(texts) <= 20_000:
        from bertopic import BERTopic

        base = vectors[:, : vectors.shape[1] // 2] if listed else vectors
        measured("BERTopic", lambda: BERTopic().fit_transform(texts, embeddings=base))


if __name__ == "__main__":
    main()
