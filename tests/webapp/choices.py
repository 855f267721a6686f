"""Widgets of simulated pages whose keys change."""

from typing import Any

from streamlit.testing.v1 import AppTest


def choice(at: AppTest, param: str) -> Any:
    """The select box of a URL key; its own key has a number, which a link raises."""
    (found,) = [box for box in at.selectbox if str(box.key).startswith(f"{param}_choice_")]
    return found
