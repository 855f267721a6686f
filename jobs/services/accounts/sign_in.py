"""Signing in and out.

An attempt is counted in the store before its password is checked, so that several web processes and attempts at the
same moment share one limit: three free ones for a name, fifty for an address, then waiting times that double.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from themescope.core.errors import AccessError
from themescope.core.records.stored import Role
from themescope.db.access import NOBODY
from themescope.db.passwords import hash_password, is_outdated, verify
from themescope.db.records import SessionRecord, SignInMethod
from themescope.db.repositories.accounts import NAME_KEPT as NAME_KEPT
from themescope.db.repositories.accounts import token_hash
from themescope.db.sql import now
from themescope.db.store import Store, Unit
from themescope.jobs.services.accounts.people import failures_of, hash_new_password, store_password, tidy

logger = logging.getLogger(__name__)

WRONG = "Wrong name or password."
_FREE_PER_NAME, FREE_PER_ADDRESS = 3, 50
_TOUCH_EVERY = timedelta(minutes=1)


class TooManyAttempts(AccessError):
    """Raised when a name or an address must wait before the next attempt."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"Too many failed attempts. Wait {max(wait_s, 1):.0f} s, then try again.")
        self.wait_s = wait_s


def failures_at(address: str) -> str:
    """Return the key of the failed attempts from an address."""
    return f"address {address}"


def sign_in(store: Store, name: str, password: str, address: str) -> str:
    """Check a password, begin a session and return its token for the browser; ``address`` is the client's.

    Raises :class:`AccessError` if name or password is wrong, without saying which, or :class:`TooManyAttempts`.
    """
    with _checked(store, tidy(name), password, address) as (w, hashed):
        if is_outdated(hashed):
            w.logins.put(tidy(name), hash_password(password))
        return _begin(w, store, tidy(name), SignInMethod.PASSWORD)


def change_password(store: Store, token: str, current: str, new: str, address: str) -> str:
    """Change the password of the person of a session, end all their sessions and tokens, and begin a new session.

    Return its token.

    Raises :class:`AccessError` if the session has ended or the current password is wrong, :class:`TooManyAttempts`, and
    :class:`~themescope.core.errors.DataError` if the new password is not accepted.
    """
    session = session_of(store, token)
    if session is None or session.method is not SignInMethod.PASSWORD:
        raise AccessError("Only people who have signed in with a password can change it.")
    name, hashed = session.person, hash_new_password(session.person, new)
    with _checked(store, name, current, address) as (w, _):
        store_password(w, name, hashed, name)
        return _begin(w, store, name, SignInMethod.PASSWORD)


def confirm(store: Store, session: SessionRecord, password: str, address: str) -> None:
    """Check the password of the person of a session again, if they have one; raises what :func:`sign_in` does."""
    if session.method is SignInMethod.PASSWORD:
        with _checked(store, session.person, password, address):
            pass


@contextmanager
def _checked(store: Store, name: str, password: str, address: str) -> Iterator[tuple[Unit, str]]:
    """Count an attempt and check the password; yield a transaction and the hash, which cannot change until its end."""
    by_name, by_address = failures_of(name), failures_at(address)
    free = {by_name: _FREE_PER_NAME, by_address: FREE_PER_ADDRESS}
    with store.reading() as r:
        wait, hashed = r.failed_sign_ins.wait_s(free), r.logins.of(name)
    if wait <= 0:
        with store.writing() as w:
            wait = w.failed_sign_ins.count(free)
    if wait > 0:
        raise TooManyAttempts(wait)
    correct = verify(password, hashed)
    with store.writing() as w:
        # While it was checked, the password may have been changed or the person removed.
        if correct and hashed and w.logins.of(name, lock=True) == hashed:
            w.failed_sign_ins.forget(by_name)
            w.failed_sign_ins.take_back(by_address)
            yield w, hashed
            return
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


@dataclass(frozen=True, slots=True)
class Account:
    """The account of the person of a session."""

    own: SessionRecord
    role: Role
    others: tuple[SessionRecord, ...]
    """Sessions in other browsers, the last used first."""


def account_of(store: Store, token: str) -> Account | None:
    """Return the account of the session of a token; None if nobody has signed in with it."""
    own = session_of(store, token)
    if own is None or own.method is SignInMethod.NAME:
        return None
    with store.reading() as r:
        found = r.sessions.of_person(own.person, store.settings)
        role = r.people.role(own.person)
    return Account(own, role, tuple(session for hashed, session in found.items() if hashed != token_hash(token)))


def sign_out_elsewhere(store: Store, token: str) -> None:
    """End all sessions of a person but that of the token."""
    session = session_of(store, token)
    if session is None or session.method is SignInMethod.NAME:
        return
    with store.writing() as w:
        w.sessions.close_all(session.person, but=token)
        w.audit_log.add(session.person, "signed out in other browsers", session.person)


def remember_name(store: Store, token: str, name: str) -> None:
    """Keep the name that was entered in a browser where nobody signs in."""
    with store.writing() as w:
        w.sessions.remember(token, tidy(name))
