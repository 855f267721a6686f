"""Password file of version 0.1, whose hashes a migration copies into the store."""

from __future__ import annotations

import json
from pathlib import Path

from themescope.core.errors import ConfigError

_NAME = "logins.json"
_VERSION = 1


def read_password_file(home: Path) -> dict[str, str]:
    """Return name → password hash, "" for accounts with OIDC; raise ``ConfigError`` if the file is damaged."""
    path = home / _NAME
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}). Check its owner.") from None
    except ValueError:
        found = None
    people = found.get("people") if isinstance(found, dict) and found.get("version") == _VERSION else None
    if not isinstance(people, dict) or not all(isinstance(hashed, str) for hashed in people.values()):
        raise ConfigError(
            f"{path}, the password file of version 0.1, is damaged, so its accounts cannot be copied into the store. "
            "Move it away and add the accounts again: themescope people add NAME."
        )
    return people


def delete_password_file(home: Path) -> None:
    """Delete the file and its lock, after the store has the hashes."""
    for name in (_NAME, ".logins.lock"):
        (home / name).unlink(missing_ok=True)
