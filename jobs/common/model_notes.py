"""What a person should know before a model is used: its language, and vectors that depend on the article."""

from __future__ import annotations

from themescope.core.models import REGISTRY
from themescope.core.models.languages import english_only
from themescope.core.registry import Card
from themescope.core.text.languages import Shares, frequent, shares_text
from themescope.db.records import ModelRecord
from themescope.db.store import Store
from themescope.jobs.common.models import built_on

WITHIN_ARTICLE = (
    "The vectors of this model are computed within the article: they depend on its other sentences, and similarities "
    "across articles mean less."
)
"""Note on models for which :func:`within_article` holds."""
_ENGLISH = 0.9
"""Share of English from which a model for English reads a text."""
ADVICE = (
    "Expect poor results: it knows few words of other languages. Use tf-idf, CON-S2V trained on this text, or a "
    "multilingual sentence-transformers encoder, whose folder you name when you train “Sentence encoder”. A model that "
    "reads this language is marked as multilingual on the page Models."
)


def within_article(model: ModelRecord) -> bool:
    """Return whether the model's vectors of a sentence depend on the other sentences of its article."""
    return model.method in REGISTRY and "per-article" in REGISTRY.get(model.method).tags


def language_note(store: Store, model: ModelRecord, shares: Shares) -> str:
    """Return what a user gets who applies ``model`` to text with these ``shares`` of languages; "" if they fit."""
    if is_english(shares) or not english_model(store, model):
        return ""
    return f"“{model.name}” is for English text only, and this text is {shares_text(shares)}. {ADVICE}"


def method_note(card: Card, shares: Shares) -> str:
    """Return what a user gets who trains a method with its default settings on such a text; "" if they fit."""
    if is_english(shares) or "english" not in card.tags:
        return ""
    return (
        f"“{card.title}” builds on English word vectors or an English encoder, and this text is "
        f"{shares_text(shares)}. Name word vectors or an encoder for this language in the settings, or choose a method "
        "that learns from this text alone, such as CON-S2V."
    )


def base_note(store: Store, model: ModelRecord) -> str:
    """Return which stored models a model is built on and that its files contain copies of them; "" if on none."""
    parts = built_on(store, model)
    if model.method not in REGISTRY or "any-models" not in REGISTRY.get(model.method).tags or not parts:
        return ""
    names = ", ".join(f"“{part.name}”" for part in parts)
    copies = "a copy of it" if len(parts) == 1 else "copies of them"
    return f"Built on {names}. Its files contain {copies}, so it also works elsewhere and after a deletion."


def is_english(shares: Shares) -> bool:
    """Return whether less than a tenth of a text is in other languages."""
    return set(frequent(shares)) == {"en"} and shares.get("en", 1.0) >= _ENGLISH


def english_model(store: Store, model: ModelRecord) -> bool:
    """Return whether a model, or one that it is built on, is for English only; not if it is marked as multilingual."""
    if model.method not in REGISTRY or model.multilingual:
        return False
    card = REGISTRY.get(model.method)
    parts = built_on(store, model) if "needs-models" in card.tags else []
    return any(english_model(store, part) for part in parts) if parts else english_only(card, model.config)
