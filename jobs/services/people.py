"""People of an installation: roles, sign-in, tokens and personal data."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from themescope.core.errors import AccessError, ConfigError, DataError, DuplicateNameError, UnknownNameError
from themescope.core.records.stored import JobStatus, Role
from themescope.db.access import NOBODY, Actor
from themescope.db.passwords import hash_password, is_outdated, verify
from themescope.db.records import ApiTokenRecord, PersonRecord, SessionRecord, SignInMethod
from themescope.db.repositories import people as personal_data
from themescope.db.repositories.people import NAME_KEPT as NAME_KEPT
from themescope.db.repositories.people import token_hash
from themescope.db.sql import now
from themescope.db.store import Store, Unit
from themescope.db.types import clean_text

# Accounts, sign-in and tokens. Each change of an account and its audit event are one transaction

LONGEST_NAME = 60
"""Maximum length of a name in characters."""

_OWN_CHARACTERS = 6
"""Minimum length of a password without the words that everybody tries first, if it contains them."""


def tidy(name: str) -> str:
    """Return a name in stored form: one line, single spaces, only printable characters, at most 60 of them.

    Letters are composed (NFC), because keyboards encode accents differently.
    """
    composed = unicodedata.normalize("NFC", clean_text(name))
    return " ".join("".join(c if c.isprintable() else " " for c in composed).split())[:LONGEST_NAME].rstrip()


@dataclass(frozen=True, slots=True)
class Member:
    """Account with its role and sign-in method."""

    person: PersonRecord
    login: SignInMethod | None
    """None for a person who cannot sign in."""


def members(store: Store) -> list[Member]:
    """Return all people who have a role or may sign in."""
    with store.reading() as r:
        people, logins = r.people.list(), r.logins.all()
    methods = {name: SignInMethod.PASSWORD if hashed else SignInMethod.ORGANISATION for name, hashed in logins.items()}
    return [Member(person, methods.get(person.name)) for person in people]


def add(store: Store, name: str, role: Role, password: str | None, by: str | None = None) -> str:
    """Add an account with a password, or for OIDC without one, and return the name in stored form.

    ``by`` is the admin who adds it; None: the owner of the data folder. Raises :class:`DataError` if the name is empty
    or taken, or the password too short.
    """
    name = _named(name, ())
    hashed = "" if password is None else hash_new_password(name, password)
    with store.writing() as w:
        w.people.set_role(name, role, _authority(w, by, name))
        if w.logins.of(name) is not None:
            raise DataError(f"{name} can sign in already. To change the account: themescope people change NAME.")
        w.logins.put(name, hashed)
        w.audit_log.add(by or "", "account added", name, role.value)
    return name


def set_password(store: Store, name: str, password: str) -> None:
    """Set a new password, end all sessions of the person and revoke their tokens."""
    hashed = hash_new_password(name, password)
    with store.writing() as w:
        known = w.logins.all()
        name = _named(name, known)
        if name not in known:
            raise UnknownNameError("person who may sign in", name, known)
        store_password(w, name, hashed, "")


def store_password(unit: Unit, name: str, hashed: str, by: str) -> None:
    """Store a new password, end all sessions of the person and revoke their tokens, which a thief may have made."""
    unit.logins.put(name, hashed)
    unit.sessions.close_all(name)
    unit.api_tokens.revoke_all(name)
    unit.audit_log.add(by, "password changed", name)


def hash_new_password(name: str, password: str) -> str:
    """Return the hash of a password that a person will have from now on.

    Raises :class:`DataError` if it is too short, or would be without the words that everybody tries first.
    """
    rest = password.casefold()
    for word in filter(None, (tidy(name).casefold(), "themescope", "password")):
        rest = rest.replace(word, "")
    if len(rest) < len(password) and len(rest) < _OWN_CHARACTERS:
        raise DataError("A password must not consist of the name, “Themescope” or “password”. Use several other words.")
    return hash_password(password)


def set_role(store: Store, name: str, role: Role, by: str | None = None) -> None:
    """Set the role of a person; if it changes, their sessions end."""
    with store.writing() as w:
        name = _named(name, {person.name for person in w.people.list()})
        before = w.people.role(name)
        w.people.set_role(name, role, _authority(w, by, name))
        if role is not before:
            w.sessions.close_all(name)
            w.audit_log.add(by or "", "role changed", name, f"{before.value} → {role.value}")


def remove(store: Store, name: str, by: str | None = None) -> None:
    """Remove an account, its role, its sessions and its tokens; labellings and reviews of the person are kept."""
    with store.writing() as w:
        name = _named(name, {person.name for person in w.people.list()})
        w.people.remove(name, _authority(w, by, name))
        w.logins.remove(name)
        w.sessions.close_all(name)
        w.api_tokens.remove_all(name)
        w.failed_sign_ins.forget(failures_of(name))
        w.audit_log.add(by or "", "account removed", name)


def forget(store: Store, name: str) -> str:
    """Remove the account of a person, replace the name in every row, and return the pseudonym.

    Labels, history and reviews are kept, so that partitions and agreement stay the same. Texts of corpora and files are
    not changed. Raises ``UnknownNameError`` if nobody has that name, ``DataError`` if a running job names the person,
    and ``StoreError`` if the person is the only admin.
    """
    accounts = {member.person.name for member in members(store)}
    with store.reading() as r:
        connection = r.people.connection
        known = (personal_data.people_named(connection) | accounts) - {""}
        found = name if name in known else tidy(name)
        if found not in known:
            raise UnknownNameError("person", name, known)
        replacement = personal_data.replacement_of(connection, found)
        for job in r.jobs.list(limit=10_000, status=JobStatus.RUNNING):
            if replacement.value(job.args) != job.args:
                raise DataError(f"Job {job.id} ({job.title}) is running and names {found}. Wait, or cancel it.")
    if found in accounts:
        remove(store, found)
    with store.writing() as w:
        replacement = personal_data.replacement_of(w.people.connection, found)
        w.sessions.close_all(found, names=True)
        personal_data.replace_name(w.people.connection, replacement)
    return replacement.pseudonym


def _named(name: str, known: Collection[str]) -> str:
    """Return a known name unchanged, any other one in stored form; raise :class:`DataError` if it is empty."""
    found = name if name in known else tidy(name)
    if not found and found not in known:
        raise DataError("Enter a name.")
    return found


def _authority(unit: Unit, by: str | None, name: str) -> str:
    """Return the person on whose authority a change is made; the owner of the data folder acts as an admin."""
    unit.people.lock_roles()
    return by if by is not None else next(iter(unit.people.admins()), name)


def failures_of(name: str) -> str:
    """Return the key of the failed sign-ins with a name."""
    return f"name {name}"


def check_sharing(store: Store, oidc: bool, address: str) -> None:
    """Raise :class:`ConfigError` before other machines are served if no admin can sign in."""
    with store.reading() as r:
        admins, logins = r.people.admins(), r.logins.all()
    usable = [name for name, hashed in logins.items() if hashed or oidc]
    if any(name in usable for name in admins):
        return
    missing = "no admin can sign in" if usable else "nobody can sign in"
    raise ConfigError(
        f"At {address} other machines can reach Themescope, so people must sign in, but {missing} yet. "
        "Add an admin: themescope people add NAME --role admin (with --oidc for a login through your organisation). "
        "Or serve only this machine, and use a tunnel, such as ssh -L 8501:localhost:8501."
    )


logger = logging.getLogger(__name__)

WRONG = "Wrong name or password."
_FREE_PER_NAME, FREE_PER_ADDRESS = 3, 50
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
    with _checked(store, tidy(name), password, address) as (w, hashed):
        if is_outdated(hashed):
            w.logins.put(tidy(name), hash_password(password))
        return _begin(w, store, tidy(name), SignInMethod.PASSWORD)


def change_password(store: Store, token: str, current: str, new: str, address: str) -> str:
    """Change the password of a person, end all their sessions and tokens, and return the token of a new session.

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
    by_name, by_address = failures_of(name), f"address {address}"
    free = {by_name: _FREE_PER_NAME, by_address: FREE_PER_ADDRESS}
    _count(store, free)
    with store.reading() as r:
        hashed = r.logins.of(name)
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


def _count(store: Store, free: Mapping[str, int]) -> None:
    """Count an attempt; raise :class:`TooManyAttempts` if one of the keys has to wait after so many free ones."""
    with store.reading() as r:
        wait = r.failed_sign_ins.wait_s(free)
    if wait <= 0:
        with store.writing() as w:
            wait = w.failed_sign_ins.count(free)
    if wait > 0:
        raise TooManyAttempts(wait)


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


# Tokens with which programs use the HTTP API as a person: creating, revoking and checking them

DAYS, MOST_DAYS = 90, 3_650
"""Default and maximum number of days until a token expires."""
WRONG_TOKEN = "This token is wrong, has expired or was revoked."
_MOST_TOKENS = 50


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
        _count(store, {f"tokens from {address}": FREE_PER_ADDRESS})
        with store.writing() as w:
            w.audit_log.add("", "wrong token", "", address)
        logger.warning("A request was refused: wrong token.")
        raise AccessError(WRONG_TOKEN)
    if found.used is None or now() - found.used > _TOUCH_EVERY:
        with store.writing() as w:
            w.api_tokens.touch(found.id)
            w.people.touch(found.person)
    return actor
