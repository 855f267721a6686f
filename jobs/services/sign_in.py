"""Signing in and out.

An attempt is counted in the store before its password is checked, so that several web processes and attempts at the
same moment share one limit: three free ones for a name, fifty for an address, then waiting times that double.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from core.errors import AccessError
from db.access import NOBODY
from db.label_records import SessionRecord, SignInMethod
from db.passwords import hash_password, is_outdated, verify
from db.sql import now
from db.store import Store, Unit
from jobs.services.people import failures_of, tidy

logger = logging.getLogger(__name__)

WRONG = "Wrong name or password."
_FREE_PER_NAME, _FREE_PER_ADDRESS = 3, 50
_TOUCH_EVERY = timedelta(minutes=1)


class TooManyAttempts(AccessError):
    """Raised when a name or an address must wait before the next attempt."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"Too many failed attempts. Wait {max(wait_s, 1):.0f} s, then try again.")
        self.wait_s = wait_s


def sign_in(store: Store, name: str, password: str, address: str) -> str:
    """Check a password, begin a session and return its token for the browser; ``address`` is the client's.

    Raises :class:`AccessError` if name or password is wrong, without saying which, or :class:`TooManyAttempts`.
    """
    name = tidy(name)
    by_name, by_address = failures_of(name), f"address {address}"
    free = {by_name: _FREE_PER_NAME, by_address: _FREE_PER_ADDRESS}
    with store.reading() as r:
        wait, hashed = r.failed_sign_ins.wait_s(free), r.logins.of(name)
    if wait <= 0:
        with store.writing() as w:
            wait = w.failed_sign_ins.count(free)
    if wait > 0:
        raise TooManyAttempts(wait)
    correct = verify(password, hashed)
    fresh = hash_password(password) if correct and hashed and is_outdated(hashed) else hashed
    with store.writing() as w:
        # While it was checked, the password may have been changed or the person removed.
        if correct and fresh and w.logins.of(name, lock=True) == hashed:
            w.failed_sign_ins.forget(by_name)
            w.failed_sign_ins.take_back(by_address)
            if fresh != hashed:
                w.logins.put(name, fresh)
            return _begin(w, store, name, SignInMethod.PASSWORD)
        # A name without an account is not recorded: it may be a password in the wrong field.
        w.audit_log.add("", "sign-in failed", "" if hashed is None else name, address)
    logger.warning("A sign-in failed: wrong name or password.")
    raise AccessError(WRONG)


def sign_in_by_organisation(store: Store, name: str) -> str:
    """Begin a session of a person whom the organisation (OIDC) has authenticated, and return its token.

    Raises :class:`AccessError` if there is no such account.
    """
    with store.writing() as w:
        if w.logins.of(name, lock=True) != "":
            raise AccessError(f"{name or NOBODY} has no account. Ask an admin.")
        return _begin(w, store, name, SignInMethod.ORGANISATION)


def _begin(unit: Unit, store: Store, name: str, method: SignInMethod) -> str:
    unit.people.touch(name)
    unit.sessions.remove_ended(store.settings)
    unit.audit_log.add(name, "signed in", name, method.value)
    return unit.sessions.open(name, method)


def session_of(store: Store, token: str) -> SessionRecord | None:
    """Return the session of a token; None if it has ended."""
    if not token:
        return None
    with store.reading() as r:
        return r.sessions.find(token, store.settings)


def keep_alive(store: Store, token: str, session: SessionRecord) -> None:
    """Record that a session is in use, at most once a minute."""
    if now() - session.seen > _TOUCH_EVERY:
        with store.writing() as w:
            if w.sessions.touch(token) and session.method is not SignInMethod.NAME:
                w.people.touch(session.person)


def sign_out(store: Store, token: str) -> SessionRecord | None:
    """End a session, and return it; None if it had ended before."""
    session = session_of(store, token)
    if session is None or session.method is SignInMethod.NAME:
        return None
    with store.writing() as w:
        w.sessions.close(token)
        w.audit_log.add(session.person, "signed out", session.person)
    return session


def remember_name(store: Store, token: str, name: str) -> None:
    """Keep the name that was entered in a browser where nobody signs in."""
    with store.writing() as w:
        w.sessions.remember(token, tidy(name))
