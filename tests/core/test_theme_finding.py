"""The encoder of the default model for lists, for sentences on one subject, and for running text."""

from pathlib import Path

import numpy as np
import pytest

import themescope
from tests.core.test_themes import Subjects
from tests.tiny_encoder import NEEDS_ENCODER
from themescope.core.errors import DataError
from themescope.core.sentence_model import SentenceModel

pytestmark = NEEDS_ENCODER
QUICK = {"sample": 10, "subsamples": 1}
_PLACES = (
    "harbour market cathedral railway council school bridge museum theatre library hospital prison university airport "
    "stadium castle garden river hill street square tower wall gate church chapel mosque synagogue cemetery factory "
    "brewery bakery inn hotel bank court mint shipyard lighthouse canal mill well fountain monument statue zoo "
    "aquarium park forest beach island suburb tram bus ferry tunnel road newspaper radio festival fair orchestra club"
)
ONE_SUBJECT = [
    f"The {place} of the old town of Bergen is well known to all who have lived there since the war."
    for place in _PLACES.split()
]
LIST = [f"{a} {b}." for a in ("Tigers", "Pianos", "Prices", "Rivers") for b in "abcdefghijklmnop"]


@pytest.fixture(scope="module")
def themes() -> themescope.Themes:
    return themescope.find_themes(ONE_SUBJECT, settings=QUICK)


def test_double_spaces_change_nothing(themes: themescope.Themes) -> None:
    """A text with two spaces sorts before others, and the vectors of other batches have other last digits."""
    spaced = [text.replace(" of", "  of") if row % 3 else text for row, text in enumerate(ONE_SUBJECT)]
    again = themescope.find_themes(spaced, settings=QUICK)
    assert np.array_equal(again.vectors, themes.vectors) and np.array_equal(again.labels, themes.labels)


def encoder_of(found: themescope.Themes) -> SentenceModel:
    assert isinstance(found.encoder, SentenceModel)
    return found.encoder


def test_sentences_on_one_subject_are_read_in_their_context(themes: themescope.Themes) -> None:
    inside, model = encoder_of(themes), themescope.load()
    assert inside.context is not None and themes.context
    plain = model.encode(sorted(ONE_SUBJECT))
    assert inside.context == pytest.approx(model.in_context(plain).context, abs=1e-4)  # type: ignore[union-attr]
    assert abs(inside.encode(ONE_SUBJECT[:1]) - model.encode(ONE_SUBJECT[:1])).max() > 0.001
    named = themescope.find_themes(ONE_SUBJECT, model, settings=QUICK)  # a model that is named is used as it is
    assert encoder_of(named).context is None and named.reason == themes.reason
    given = themescope.find_themes(ONE_SUBJECT, k=len(themes.themes), settings=QUICK)
    assert np.array_equal(given.labels, themes.labels)


def test_the_context_is_saved_with_the_themes(themes: themescope.Themes, tmp_path: Path) -> None:
    themes.save(tmp_path)
    again = themescope.Themes.load(tmp_path)
    assert np.array_equal(encoder_of(themescope.Themes.load(tmp_path, "default")).context, encoder_of(themes).context)
    new = ["The castle of the town of Bergen was built."]
    assert np.array_equal(encoder_of(again).context, encoder_of(themes).context) and again.context
    assert np.array_equal(again.predict(new).probabilities, themes.predict(new).probabilities)


@pytest.mark.parametrize("options", [{}, {"k": 4}], ids=["suggested", "given"])
def test_a_list_has_the_vectors_of_both_encoders_and_keeps_them(options: dict[str, object], tmp_path: Path) -> None:
    found = themescope.find_themes(LIST, settings=QUICK, **options)  # type: ignore[arg-type]
    assert encoder_of(found).name == "thematic-wikipedia-2-for-lists" and found.by_density and len(found.themes) == 4
    assert found.vectors.shape[1] == 768 and set(found.predict(["A tiger."]).labels) == {found.labels[0]}
    found.save(tmp_path)
    assert (themescope.Themes.load(tmp_path).predict(LIST).labels == found.predict(LIST).labels).all()
    assert found.stability(samples=2).shape == (4,)
    with pytest.raises(DataError, match="Themes of a list depend on their model"):
        themescope.Themes.load(tmp_path, Subjects()).stability()


@pytest.mark.parametrize(
    ("texts", "options"),
    [(ONE_SUBJECT[:50] * 2, {}), (ONE_SUBJECT, {"in_order": True})], ids=["too few to tell", "running text"],
)  # fmt: skip
def test_other_texts_are_read_one_by_one(texts: list[str], options: dict[str, object]) -> None:
    found = themescope.find_themes(texts, settings=QUICK, **options)  # type: ignore[arg-type]
    assert encoder_of(found).context is None and not found.context
    assert encoder_of(found).name == "thematic-wikipedia-2"


def test_short_answers_on_one_subject_are_a_list() -> None:
    answers = [f"I miss the {place}." for place in _PLACES.split()]
    assert not themescope.find_themes(answers, settings=QUICK).context
