"""Accounts: adding and removing people, passwords and roles. Each change and its audit event are one transaction."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from themescope.core.errors import ConfigError, DataError, UnknownNameError
from themescope.core.records.stored import Role
from themescope.db.passwords import hash_password
from themescope.db.records import PersonRecord, SignInMethod
from themescope.db.store import Store, Unit
from themescope.db.types import clean_text

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
