"""Accounts: adding and removing people, passwords, roles, signing in.

The password file and the store change one after the other under the lock of the file, and never the file inside a
transaction: a file cannot be rolled back. The order of the steps decides what a crash between them leaves: somebody
without a login, or without sessions, and never a login or a session that should be gone. If a step fails, the one
before is taken back.

Signing in is slow on purpose: one password is checked at a time, and after three wrong ones a name waits longer and
longer.
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
from db.logins import Logins
from db.store import Store, Unit
from db.types import clean_text
from jobs.services.passwords import hash_password, verify

logger = logging.getLogger(__name__)

LONGEST_NAME = 60
"""Maximum length of a name in characters."""
_FREE_TRIES = 3
_LONGEST_WAIT_S = 300.0
_REMEMBERED = 10_000
WRONG = "That name and that password do not belong together."


def tidy(name: str) -> str:
    """A name as it is stored: one line, single spaces, no characters that are not seen, at most 60 letters.

    Letters are composed (NFC): keyboards differ in how they write an accent, and people do not see it.
    """
    composed = unicodedata.normalize("NFC", name)
    return " ".join("".join(c if c.isprintable() else " " for c in composed).split())[:LONGEST_NAME].rstrip()


@dataclass(frozen=True, slots=True)
class Member:
    """Account with its role and sign-in method."""

    person: PersonRecord
    login: str
    """"password", "organisation", or "" for who cannot sign in."""


def members(store: Store) -> list[Member]:
    """Return everybody who has a role or may sign in."""
    logins = Logins(store.settings.home)
    known = logins.all()
    with store.reading() as r:
        people = r.people.list()
    # Such as after the database was begun anew: who is in the file comes in, as a labeller.
    others = sorted({*known} - {p.name for p in people})
    since = datetime.fromtimestamp(logins.path.stat().st_mtime, UTC) if others else datetime.now(UTC)
    people += [PersonRecord(name, Role.LABELLER, since) for name in others]
    return [Member(p, _way(known.get(p.name))) for p in people]


def _way(hashed: str | None) -> str:
    if hashed is None:
        return ""
    return "password" if hashed else "organisation"


def add(store: Store, name: str, role: Role, password: str | None, by: str | None = None) -> str:
    """Add an account with a password, or with OIDC without one. Return the name as it is stored.

    ``by`` is the admin who does it; None: whoever owns the data folder.

    Raises
    ------
    DataError
        If the name is empty or taken, or the password too short.
    """
    name = _named(name, ())
    logins = Logins(store.settings.home)
    _check_new(name, logins)
    hashed = "" if password is None else hash_password(password)
    with logins.locked():
        _check_new(name, logins)
        # The role first: a login without a role would be that of a labeller.
        with store.writing() as w:
            before = w.people.set_role(name, role, _authority(w.people.admins(), by, name))
        with _taken_back(store, lambda w: w.people.restore_role(name, before)):
            logins.put(name, hashed)
    return name


@contextmanager
def _taken_back(store: Store, undo: Callable[[Unit], None]) -> Iterator[None]:
    """Undo what a transaction has changed if the step after it fails."""
    try:
        yield
    except BaseException:
        with store.writing() as w:
            undo(w)
        raise


def _check_new(name: str, logins: Logins) -> None:
    if name in logins.all():
        raise DataError(f"{name} may sign in already. To change that: themescope people password, or set-role.")


def set_password(store: Store, name: str, password: str) -> None:
    """Set a new password and end all sessions of the person."""
    logins = Logins(store.settings.home)
    name = _named(name, logins.all())
    _check_known(name, logins)
    hashed = hash_password(password)
    with logins.locked():
        _check_known(name, logins)
        # The sessions first: none that the old password opened outlives it.
        with store.writing() as w:
            closed = w.sign_ins.close_all(name)
        with _taken_back(store, lambda w: w.sign_ins.reopen(closed)):
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
        # The login first: without a role it would be that of a labeller. Without a login, no session counts.
        with _without_login(logins, name), store.writing() as w:
            w.people.remove(name, authority)


@contextmanager
def _without_login(logins: Logins, name: str) -> Iterator[None]:
    """Remove somebody's login, if there is one; put it back if the block fails."""
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
    """Return a name of ``known`` unchanged, or else in stored form; raise :class:`DataError` if empty."""
    found = name if name in known else tidy(clean_text(name))
    if not found and found not in known:
        raise DataError("A person needs a name.")
    return found


def _authority(admins: list[str], by: str | None, name: str) -> str:
    """Return in whose name a change is made; the owner of the data folder acts as an admin."""
    if by is not None:
        return by
    return next(iter(admins), name)


# --- signing in -------------------------------------------------------------------------------------------------------


def check_sharing(store: Store, oidc: bool, address: str) -> None:
    """Refuse to serve other machines while nobody can sign in or there is no admin.

    Raises
    ------
    ConfigError
        With what to do first.
    """
    logins = Logins(store.settings.home).all()
    with store.reading() as r:
        admins = r.people.admins()
    usable = [name for name, hashed in logins.items() if hashed or oidc]
    if any(name in usable for name in admins):
        return
    missing = "no admin can sign in" if usable else "nobody can sign in"
    raise ConfigError(
        f"At {address} Themescope can be reached by other people, so it asks them to sign in, and {missing} yet. "
        "Add an admin: themescope people add NAME --role admin (with --oidc for a login through your organisation). "
        "Or let only this machine reach it, and use a tunnel, such as ssh -L 8501:localhost:8501."
    )


@dataclass
class Attempts:
    """Recent failed sign-ins by name, in the memory of one server process."""

    failed: OrderedDict[str, tuple[int, float]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_s(self, name: str, now: float) -> float:
        """Seconds until the name may be tried again."""
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

    Raises
    ------
    AccessError
        If the two do not belong together (which of them is wrong is not said), or it is too early for another try.
    """
    name = tidy(clean_text(name))
    logins = Logins(store.settings.home)
    with attempts.lock:
        wait = attempts.wait_s(name, time.monotonic())
        if wait > 0:
            raise AccessError(f"Too many wrong tries. Wait {wait:.0f} s, then try again.")
        hashed = logins.all().get(name)
        if not verify(password, hashed):
            attempts.note(name, time.monotonic())
            logger.warning("Somebody tried to sign in with a name and a password that do not belong together.")
            raise AccessError(WRONG)
        attempts.failed.pop(name, None)
    with logins.locked():
        # Checking takes a while, in which the password may have been changed, or the person removed.
        if logins.all().get(name) != hashed:
            raise AccessError(WRONG)
        with store.writing() as w:
            w.people.touch(name)
            return w.sign_ins.open(name)


def session_of(store: Store, token: str) -> tuple[str, datetime] | None:
    """Return whose session a token is and when it was last used; None if it has ended, or they may not sign in."""
    with store.reading() as r:
        known = r.sign_ins.person(token)
    if known is None or known[0] not in Logins(store.settings.home).all():
        return None
    return known


def admitted(store: Store, name: str) -> str:
    """Return the name of a person whom the organisation's login (OIDC) has authenticated.

    Raises
    ------
    AccessError
        If nobody let them in.
    """
    name = tidy(clean_text(name))
    if Logins(store.settings.home).all().get(name) != "":
        raise AccessError(f"{name or NOBODY} is not among the people who may come in. Ask an admin.")
    return name
