"""Selection of a model: models are grouped by method and labelled with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from core.models import REGISTRY
from db.records import ModelRecord
from jobs.common.models import NOT_STORED

R = TypeVar("R")


def method_title(method: str) -> str:
    """The title on a method's card; its id where this version has no such card."""
    return REGISTRY.get(method).title if method in REGISTRY else method


def by_method(models: Sequence[ModelRecord]) -> list[ModelRecord]:
    """Models of one method beside each other, the newest first; methods stand as their newest models do."""
    newest = sorted(models, key=lambda model: (model.created, model.id), reverse=True)
    return together(newest, lambda model: model.method)


def together(found: Sequence[R], group: Callable[[R], str]) -> list[R]:
    """What is of one group beside each other; groups stand as the first of each does, and each keeps its order."""
    place = {name: number for number, name in enumerate(dict.fromkeys(map(group, found)))}
    return sorted(found, key=lambda one: place[group(one)])


def with_tag(models: Sequence[ModelRecord], tag: str) -> list[ModelRecord]:
    """Those whose method's card has ``tag``, by method."""
    return [m for m in by_method(models) if m.method in REGISTRY and tag in REGISTRY.get(m.method).tags]


def fine_tunable(models: Sequence[ModelRecord]) -> list[ModelRecord]:
    """Return the models that another training can start from, newest first."""
    return [m for m in models if m.method in REGISTRY and "fine-tunable" in REGISTRY.get(m.method).tags][::-1]


def told(model: ModelRecord) -> str:
    """Return the label of a model: its name and its method, and whether it is a pretrained one not stored yet."""
    label = f"{model.name} · {method_title(model.method)}"
    return f"{label} · pretrained" if model.id == NOT_STORED else label


def preselected(models: Sequence[ModelRecord]) -> list[str]:
    """Return the names of the models that a form suggests: up to four stored ones; without any, pretrained ones."""
    stored = [model.name for model in models if model.id != NOT_STORED]
    return stored[:4] or [model.name for model in models][:4]


def one_model(label: str, models: Sequence[ModelRecord], key: str, help: str = "") -> ModelRecord:
    """Choose one of ``models`` (at least one) in a form; the choice is not part of the URL."""
    known = {model.name: model for model in by_method(models)}
    if st.session_state.get(key) not in known:
        st.session_state.pop(key, None)
    chosen = st.selectbox(label, list(known), format_func=lambda name: told(known[name]), key=key, help=help or None)
    return known[chosen if chosen in known else next(iter(known))]
