"""The store of this server process, before sign-in. Pages use :func:`themescope.webapp.shared.queries.store`."""

from __future__ import annotations

import streamlit as st

from themescope.db.settings import Settings, is_loopback
from themescope.db.store import Store


def store() -> Store:
    """Return the migrated store. Writes through it are not checked against a role."""
    settings = Settings.from_environment()
    return _store(str(settings.home), settings.database_url)


@st.cache_resource(show_spinner=False)
def _store(home: str, database_url: str) -> Store:
    opened = Store(Settings.from_environment())
    opened.migrate()
    return opened


def shared() -> bool:
    """Return whether sign-in is required: other machines can reach the pages, or the settings demand it."""
    address = str(st.get_option("server.address") or "0.0.0.0")
    return Settings.from_environment().login == "always" or not is_loopback(address)
