"""Tokens with which programs use the HTTP API as a person: creating, revoking and checking them.

Each change and its audit event are one transaction. Wrong tokens are counted by address, apart from failed sign-ins: a
program with an expired token keeps nobody from signing in. A valid token is accepted even from an address that has to
wait: nobody guesses 256 random bits, and others may share it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from themescope.core.errors import AccessError, DataError, DuplicateNameError, UnknownNameError
from themescope.db.access import Actor
from themescope.db.records import ApiTokenRecord
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.jobs.services.accounts.people import FREE_PER_ADDRESS, TooManyAttempts, tidy

logger = logging.getLogger(__name__)

DAYS, MOST_DAYS = 90, 3_650
"""Default and maximum number of days until a token expires."""
WRONG = "This token is wrong, has expired or was revoked."
_MOST_TOKENS = 50
_TOUCH_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just created. Its secret is shown once and not stored."""

    secret: str
    record: ApiTokenRecord


def create(store: Store, person: str, name: str, days: int = DAYS, by: str = "") -> NewToken:
    """Create a token; ``by`` is who does it, "" for the owner of the data folder.

    Raises :class:`UnknownNameError` if the person has no account, and :class:`DataError` if the name is empty or taken,
    the number of days out of range, or the person has many tokens.
    """
    name = tidy(name)
    if not name:
        raise DataError("Enter a name for the token that says what it is for.")
    if not 1 <= days <= MOST_DAYS:
        raise DataError(f"A token is valid for 1 to {MOST_DAYS:,} days, not {days:,}.")
    with store.writing() as w:
        if w.logins.of(person) is None:
            raise UnknownNameError("person who may sign in", person, w.logins.all())
        valid = [one for one in w.api_tokens.list(person) if one.state(now()) == "valid"]
        if name in {one.name for one in valid}:
            raise DuplicateNameError("token", name)
        if len(valid) >= _MOST_TOKENS:
            raise DataError(f"{person} has {len(valid)} tokens. Revoke some first.")
        secret, record = w.api_tokens.add(person, name, now() + timedelta(days=days))
        w.audit_log.add(by, "token created", person, name)
    return NewToken(secret, record)


def revoke(store: Store, token_id: int, person: str | None = None, by: str = "") -> ApiTokenRecord:
    """Revoke a token (of a person) and return it; raise :class:`UnknownNameError` if there is none to revoke."""
    with store.writing() as w:
        found = w.api_tokens.revoke(token_id, person)
        w.audit_log.add(by, "token revoked", found.person, found.name)
    return found


def tokens_of(store: Store, person: str | None = None) -> list[ApiTokenRecord]:
    """Return all tokens (of a person), oldest first."""
    with store.reading() as r:
        return r.api_tokens.list(person)


def actor_of(store: Store, token: str, address: str) -> Actor:
    """Return the person of a token with the role in force; ``address`` is the client's.

    Raises :class:`AccessError` if the token is not valid, and :class:`TooManyAttempts` after many wrong ones.
    """
    with store.reading() as r:
        found = r.api_tokens.find(token)
        actor = None if found is None else r.people.actor(found.person)
    if found is None or actor is None:
        _refuse(store, address)
        raise AccessError(WRONG)
    if found.used is None or now() - found.used > _TOUCH_EVERY:
        with store.writing() as w:
            w.api_tokens.touch(found.id)
            w.people.touch(found.person)
    return actor


def _refuse(store: Store, address: str) -> None:
    """Count a wrong token; raise :class:`TooManyAttempts` if the address has to wait."""
    free = {f"tokens from {address}": FREE_PER_ADDRESS}
    with store.reading() as r:
        wait = r.failed_sign_ins.wait_s(free)
    if wait <= 0:
        with store.writing() as w:
            wait = w.failed_sign_ins.count(free)
            if wait <= 0:
                w.audit_log.add("", "wrong token", "", address)
    if wait > 0:
        raise TooManyAttempts(wait)
    logger.warning("A request was refused: wrong token.")
