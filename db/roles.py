"""Roles, rights, and the messages for missing rights.

A viewer looks. A labeller labels and reviews as well. An admin does everything: imports, training and any other job,
deletion, roles. The store asks here, in every transaction that is begun for a person (see ``db.access``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.errors import AccessError
from db.label_records import Role

NOBODY = "The person without a name"


class Right(StrEnum):
    """Right that a role grants."""

    LOOK = "look"
    LABEL = "label and review"
    MANAGE = "import, train, start jobs, delete, or say who may do what"


_RIGHTS: Mapping[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.LOOK}),
    Role.LABELLER: frozenset({Right.LOOK, Right.LABEL}),
    Role.ADMIN: frozenset(Right),
}


@dataclass(frozen=True, slots=True)
class Actor:
    """Person who makes a change, with the current role."""

    name: str
    role: Role

    def may(self, right: Right) -> bool:
        """Return whether the role grants a right."""
        return right in _RIGHTS[self.role]

    def require(self, right: Right) -> None:
        """Raise :class:`core.errors.AccessError` if the role does not grant a right."""
        if self.may(right):
            return
        who = self.name or NOBODY
        if self.role is Role.VIEWER:
            raise AccessError(f"{who} may look, but not change anything. Ask an admin.")
        raise AccessError(f"{who} may label and review, but not {right.value}. Ask an admin.")

    def owns(self, maker: str) -> bool:
        """Return whether the person may delete objects of ``maker``: their own, or as an admin any."""
        return maker == self.name or self.may(Right.MANAGE)

    def require_own(self, maker: str) -> None:
        """Refuse what only its maker or an admin may do."""
        if not self.owns(maker):
            raise AccessError(only_its_maker(maker))

    def require_self(self, name: str) -> None:
        """Refuse work under another's name; an admin may enter it."""
        if name != self.name and not self.may(Right.MANAGE):
            raise AccessError(f"{self.name or NOBODY} cannot work under the name of {name or 'somebody else'}.")


def only_its_maker(maker: str) -> str:
    """Return the message for everybody except ``maker`` and admins."""
    return f"Only {maker or 'the person without a name'}, who made it, or an admin may do that."
