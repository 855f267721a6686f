"""Accounts: adding and removing people, passwords, roles, signing in.

The password file and the store are changed one after the other while the file is locked. The file is never changed
inside a transaction, because it cannot be rolled back. The order of the steps makes sure that a crash between them may
leave a person without a login or sessions, but never a login or session that should have been removed. If a step
fails, the previous one is undone.

Sign-in is slow on purpose: one password is checked at a time, and after three wrong ones the waiting time of a name
doubles with each further one.
"""

from __future__ import annotations

import logging
import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from core.errors import AccessError, ConfigError, DataError, UnknownNameError
from db.access import NOBODY
from db.label_records import PersonRecord, Role
from db.logins import Logins, hash_password, verify
from db.store import Store, Unit
from db.types import clean_text

logger = logging.getLogger(__name__)

LONGEST_NAME = 60
"""Maximum length of a name in characters."""
_FREE_TRIES = 3
_LONGEST_WAIT_S = 300.0
_REMEMBERED = 10_000
WRONG = "Wrong name or password."


def tidy(name: str) -> str:
    """Return a name in stored form: one line, single spaces, only printable characters, at most 60 of them.

    Letters are composed (NFC), because keyboards encode accents differently.
    """
    composed = unicodedata.normalize("NFC", name)
    return " ".join("".join(c if c.isprintable() else " " for c in composed).split())[:LONGEST_NAME].rstrip()


@dataclass(frozen=True, slots=True)
class Member:
    """Account with its role and sign-in method."""

    person: PersonRecord
    login: str
    """"password", "organisation", or "" for a person who cannot sign in."""


def members(store: Store) -> list[Member]:
    """Return all people who have a role or may sign in."""
    logins = Logins(store.settings.home)
    known = logins.all()
    with store.reading() as r:
        people = r.people.list()
    # After the database was recreated, people of the password file have no row; they are labellers.
    others = sorted({*known} - {p.name for p in people})
    since = datetime.fromtimestamp(logins.path.stat().st_mtime, UTC) if others else datetime.now(UTC)
    people += [PersonRecord(name, Role.LABELLER, since) for name in others]
    return [Member(p, _way(known.get(p.name))) for p in people]


def _way(hashed: str | None) -> str:
    if hashed is None:
        return ""
    return "password" if hashed else "organisation"


def add(store: Store, name: str, role: Role, password: str | None, by: str | None = None) -> str:
    """Add an account with a password, or for OIDC without one, and return the name in stored form.

    ``by`` is the admin who adds it; None: the owner of the data folder. Raises :class:`DataError` if the name is empty
    or taken, or the password too short.
    """
    name = _named(name, ())
    logins = Logins(store.settings.home)
    _check_new(name, logins)
    hashed = "" if password is None else hash_password(password)
    with logins.locked():
        _check_new(name, logins)
        # The role first, because a login without a role has the rights of a labeller.
        with store.writing() as w:
            before = w.people.set_role(name, role, _authority(w.people.admins(), by, name))
        with _undo_on_error(store, lambda w: w.people.restore_role(name, before)):
            logins.put(name, hashed)
    return name


@contextmanager
def _undo_on_error(store: Store, undo: Callable[[Unit], None]) -> Iterator[None]:
    """Undo the change of a previous transaction if the block fails."""
    try:
        yield
    except BaseException:
        with store.writing() as w:
            undo(w)
        raise


def _check_new(name: str, logins: Logins) -> None:
    if name in logins.all():
        raise DataError(f"{name} can sign in already. To change the account: themescope people password, or set-role.")


def set_password(store: Store, name: str, password: str) -> None:
    """Set a new password and end all sessions of the person."""
    logins = Logins(store.settings.home)
    name = _named(name, logins.all())
    _check_known(name, logins)
    hashed = hash_password(password)
    with logins.locked():
        _check_known(name, logins)
        # The sessions first, so that none that was opened with the old password remains.
        with store.writing() as w:
            closed = w.sign_ins.close_all(name)
        with _undo_on_error(store, lambda w: w.sign_ins.reopen(closed)):
            logins.put(name, hashed)


def _check_known(name: str, logins: Logins) -> None:
    if name not in logins.all():
        raise UnknownNameError("person who may sign in", name, logins.all())


def set_role(store: Store, name: str, role: Role, by: str | None = None) -> None:
    """Set the role of a person."""
    with Logins(store.settings.home).locked(), store.writing() as w:
        name = _named(name, {person.name for person in w.people.list()})
        w.people.set_role(name, role, _authority(w.people.admins(), by, name))


def remove(store: Store, name: str, by: str | None = None) -> None:
    """Remove an account and its role; labellings and reviews of the person are kept."""
    logins = Logins(store.settings.home)
    with logins.locked():
        known = logins.all()
        with store.writing() as w:
            name = _named(name, {person.name for person in w.people.list()} | {*known})
            if name in known:
                w.people.enter(name)
            authority = _authority(w.people.admins(), by, name)
            w.people.check_removal(name, authority)
        # The login first, because without a role it has the rights of a labeller. Sessions need a login.
        with _without_login(logins, name), store.writing() as w:
            w.people.remove(name, authority)


@contextmanager
def _without_login(logins: Logins, name: str) -> Iterator[None]:
    """Remove the login of a person, if there is one; restore it if the block fails."""
    hashed = logins.all().get(name)
    if hashed is None:
        yield
        return
    logins.remove(name)
    try:
        yield
    except BaseException:
        logins.put(name, hashed)
        raise


def _named(name: str, known: Collection[str]) -> str:
    """Return a known name unchanged, any other one in stored form; raise :class:`DataError` if it is empty."""
    found = name if name in known else tidy(clean_text(name))
    if not found and found not in known:
        raise DataError("Enter a name.")
    return found


def _authority(admins: list[str], by: str | None, name: str) -> str:
    """Return the person on whose authority a change is made; the owner of the data folder acts as an admin."""
    if by is not None:
        return by
    return next(iter(admins), name)


# --- signing in -------------------------------------------------------------------------------------------------------


def check_sharing(store: Store, oidc: bool, address: str) -> None:
    """Raise :class:`ConfigError` before other machines are served if no admin can sign in."""
    logins = Logins(store.settings.home).all()
    with store.reading() as r:
        admins = r.people.admins()
    usable = [name for name, hashed in logins.items() if hashed or oidc]
    if any(name in usable for name in admins):
        return
    missing = "no admin can sign in" if usable else "nobody can sign in"
    raise ConfigError(
        f"At {address} other machines can reach Themescope, so people must sign in, but {missing} yet. "
        "Add an admin: themescope people add NAME --role admin (with --oidc for a login through your organisation). "
        "Or serve only this machine, and use a tunnel, such as ssh -L 8501:localhost:8501."
    )


@dataclass
class Attempts:
    """Recent failed sign-ins by name, in the memory of one server process."""

    failed: OrderedDict[str, tuple[int, float]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_s(self, name: str, now: float) -> float:
        """Return the seconds until the next attempt for a name."""
        count, last = self.failed.get(name, (0, 0.0))
        if count < _FREE_TRIES:
            return 0.0
        return max(0.0, last + min(2.0 ** (count - _FREE_TRIES + 1), _LONGEST_WAIT_S) - now)

    def note(self, name: str, now: float) -> None:
        """Record a failed attempt."""
        count, _ = self.failed.pop(name, (0, 0.0))
        self.failed[name] = (count + 1, now)
        if len(self.failed) > _REMEMBERED:
            self.failed.popitem(last=False)


def sign_in(store: Store, name: str, password: str, attempts: Attempts) -> str:
    """Check a password, begin a session and return its token for the browser.

    Raises :class:`AccessError` if name or password is wrong, without saying which, or if the name must wait.
    """
    name = tidy(clean_text(name))
    logins = Logins(store.settings.home)
    with attempts.lock:
        wait = attempts.wait_s(name, time.monotonic())
        if wait > 0:
            raise AccessError(f"Too many failed attempts. Wait {wait:.0f} s, then try again.")
        hashed = logins.all().get(name)
        if not verify(password, hashed):
            attempts.note(name, time.monotonic())
            logger.warning("A sign-in failed: wrong name or password.")
            raise AccessError(WRONG)
        attempts.failed.pop(name, None)
    with logins.locked():
        # While it was checked, the password may have been changed or the person removed.
        if logins.all().get(name) != hashed:
            raise AccessError(WRONG)
        with store.writing() as w:
            w.people.touch(name)
            return w.sign_ins.open(name)


def session_of(store: Store, token: str) -> tuple[str, datetime] | None:
    """Return the person of a session and the time of its last use; None if it has ended or the person has no login."""
    with store.reading() as r:
        known = r.sign_ins.person(token)
    if known is None or known[0] not in Logins(store.settings.home).all():
        return None
    return known


def admitted(store: Store, name: str) -> str:
    """Return the stored name of a person whom the organisation (OIDC) has authenticated.

    Raises :class:`AccessError` if there is no such account.
    """
    name = tidy(clean_text(name))
    if Logins(store.settings.home).all().get(name) != "":
        raise AccessError(f"{name or NOBODY} has no account. Ask an admin.")
    return name
