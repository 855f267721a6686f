"""What is sent to a language model, shown before it is sent, with an agreement for each use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from themescope.core.errors import ConfigError
from themescope.jobs.common.language_models.client import UNSET, Endpoint
from themescope.jobs.common.language_models.theme_naming import ThemeMaterial, agreed_digest, amount
from themescope.webapp.shared import queries
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.text import count, plain

TITLE = "Names by a language model"
_SHOWN = 20_000
"""Characters of the requests on the page; the rest is in the file."""


def endpoint() -> Endpoint | None:
    """Return the endpoint of the settings; None, with a line that explains how to set one, if there is none."""
    try:
        return Endpoint.of(queries.store().settings)
    except ConfigError:
        st.caption(plain(UNSET))
        return None


def consent(target: Mapping[str, Any], materials: Sequence[ThemeMaterial], model: Endpoint, key: str) -> None:
    """Draw address, model and every text of the requests, and queue the job once a person agrees to send them.

    ``target`` are the arguments of the job that say what is named. The agreement is for one use: it is given anew
    after every job, and when themes, address or model change.
    """
    sentences, characters = amount(materials)
    digest = agreed_digest(materials)
    st.markdown(
        f"{count(len(materials), 'request')} with {count(sentences, 'sentence')}, {characters:,} characters in all, "
        f"will be sent to `{code(model.url)}`, model `{code(model.model)}`. If two themes get the same name, one "
        "request is repeated with the names that are taken."
    )
    args = {**target, "texts": digest}
    agreement("name-themes", args, requests_text(materials), model, key, "Send and name themes")


def agreement(kind: str, args: Mapping[str, Any], texts: str, model: Endpoint, key: str, label: str) -> None:
    """Draw every text of the requests, and queue a job once a person agrees to send them.

    ``args`` are the arguments of the job, with the digest of what is sent as ``texts``.
    """
    with st.expander("Texts that will be sent", icon=":material/visibility:"):
        st.code(texts[:_SHOWN], language=None, wrap_lines=True, height=320)
        if len(texts) > _SHOWN:
            st.caption(f"Showing {_SHOWN:,} of {len(texts):,} characters.")
            st.download_button("All texts", texts, "requests.txt", "text/plain", icon=":material/download:")
    turn = st.session_state.setdefault(f"{key}_turn", 0)
    agreed = st.checkbox(
        f"Send these texts to {plain(model.url.split('/')[2])}",
        key=f"{key}_agreed_{turn}_{args['texts']}_{hash(model.url)}",
    )
    if st.button(label, key=f"{key}_send", icon=":material/send:", type="primary", disabled=not agreed) and submit(
        kind, {**args, "endpoint": model.url, "model": model.model, "send": agreed}
    ):
        st.session_state[f"{key}_turn"] = turn + 1
        st.rerun()


def requests_text(materials: Sequence[ThemeMaterial]) -> str:
    """Return the messages of all requests as they are sent."""
    blocks = []
    for number, material in enumerate(materials, 1):
        messages = "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in material.messages())
        blocks.append(f"Request {number} of {len(materials)}\n\n{messages}")
    return "\n\n\n".join(blocks)


def code(text: str) -> str:
    """Return a text for Markdown between backticks."""
    return text.replace("`", "'")
