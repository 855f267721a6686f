"""Settings of a process, from environment variables. This is the only module that reads the environment.

=============================  ========================================================================================
``THEMESCOPE_HOME``            data folder: artifacts, checkpoints, SQLite files (default: the platform's data folder)
``DATABASE_URL``               the store: ``sqlite:///file`` or ``postgresql://user:password@host/name``
``QUEUE_URL``                  the queue: ``sqlite:///file``, ``redis://host`` or ``postgresql://…``
``THEMESCOPE_LOGIN``           ``always``: people sign in on the loopback address too, as behind a proxy (default:
                               ``auto``)
``THEMESCOPE_ALLOWED_HOSTS``   further host names under which the pages may be opened, separated by commas (default:
                               none)
``THEMESCOPE_IMPORT_FOLDERS``  folders below which pages may read files by their path, separated as in ``PATH``
                               (default: none)
=============================  ========================================================================================
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from core.errors import ConfigError
from core.paths import at_home
from db.hosts import canonical_host

LOGINS = ("auto", "always")
_STORES = ("sqlite", "postgres", "postgresql", "postgresql+psycopg")
_QUEUES = ("sqlite", "redis", "rediss", "postgres", "postgresql", "postgresql+psycopg")


@dataclass(frozen=True, slots=True)
class Settings:
    """Data folder, URLs of store and queue, and access settings; ``repr`` shows no passwords."""

    home: Path
    database_url: str = field(repr=False)
    queue_url: str = field(repr=False)
    login: str = "auto"
    """When pages ask people to sign in: "auto", where others can reach them, or "always"."""
    allowed_hosts: tuple[str, ...] = ()
    """Further host names under which the pages may be opened, beside this machine's own."""
    import_folders: tuple[Path, ...] = ()
    """Folders below which the pages may read files by their path. The command line may read everywhere."""

    def __post_init__(self) -> None:
        if self.login not in LOGINS:
            raise ConfigError(f"THEMESCOPE_LOGIN is {' or '.join(LOGINS)}, not {self.login!r}.")
        _check_scheme("DATABASE_URL", self.database_url, _STORES)
        _check_scheme("QUEUE_URL", self.queue_url, _QUEUES)
        if sqlite_path(self.queue_url) and sqlite_path(self.queue_url) == sqlite_path(self.database_url):
            raise ConfigError(
                "QUEUE_URL and DATABASE_URL name the same SQLite file. The queue locks its file as a whole: "
                "give it a file of its own."
            )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Settings of this process; an unset or empty variable means its default.

        Raises
        ------
        ConfigError
            If a value is invalid.
        """
        given = os.environ if environ is None else environ
        wanted = given.get("THEMESCOPE_HOME", "").strip()
        home = _home(wanted) if wanted else _platform_home(given)
        found = cls.in_folder(home, given.get("DATABASE_URL", "").strip(), given.get("QUEUE_URL", "").strip())
        return replace(
            found,
            login=given.get("THEMESCOPE_LOGIN", "").strip() or "auto",
            allowed_hosts=_hosts(given.get("THEMESCOPE_ALLOWED_HOSTS", "")),
            import_folders=_folders(given.get("THEMESCOPE_IMPORT_FOLDERS", "")),
        )

    @classmethod
    def in_folder(cls, home: Path, database_url: str = "", queue_url: str = "") -> Settings:
        """Settings with both SQLite files in ``home`` unless an address is given."""
        return cls(home, database_url or sqlite_url(home / "themescope.db"), queue_url or sqlite_url(home / "queue.db"))

    @property
    def secrets_file(self) -> Path:
        """Where the secrets of a login through an organisation lie, if there are any."""
        return self.home / "secrets.toml"

    @property
    def database_label(self) -> str:
        """The store's address without its password, fit to be shown."""
        return without_password(self.database_url)

    @property
    def queue_label(self) -> str:
        """The queue's address without its password, fit to be shown."""
        return without_password(self.queue_url)


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite file, on every system (``sqlite:///C:/…`` on Windows)."""
    if "?" in str(path):
        raise ConfigError(
            f"The data folder {path.parent} has a question mark in its name, which SQLite URLs cannot carry."
        )
    return f"sqlite:///{path.as_posix()}"


def sqlite_path(url: str) -> Path | None:
    """The file a ``sqlite:///…`` URL names; None for any other kind of address."""
    scheme, _, rest = url.partition(":///")
    return at_home(rest.partition("?")[0]) if scheme.partition("+")[0] == "sqlite" else None


def without_password(url: str) -> str:
    """``url`` with its password replaced by ``***`` and its query dropped."""
    parts = urlsplit(url)
    if parts.password is None and not parts.query:
        return url
    return urlunsplit(parts._replace(netloc=_shown_netloc(parts), query=""))


def _shown_netloc(parts: SplitResult) -> str:
    who, at, where = parts.netloc.rpartition("@")
    if not at:
        return where
    return f"{unquote(who.partition(':')[0])}:***@{where}" if ":" in who else f"{who}@{where}"


def _check_scheme(variable: str, url: str, known: tuple[str, ...]) -> None:
    scheme = url.partition(":")[0]
    if scheme not in known:
        raise ConfigError(
            f"{variable} starts with {scheme!r}, which is no kind of address Themescope speaks. "
            f"Use one of {', '.join(s + '://…' for s in known if '+' not in s)}."
        )
    if scheme == "sqlite" and url.removeprefix("sqlite:///").strip("/") in ("", ":memory:", "sqlite:"):
        raise ConfigError(f"{variable} names no SQLite file. Write it as sqlite:///folder/file.db.")


def _home(wanted: str) -> Path:
    return at_home(wanted, "Set THEMESCOPE_HOME to another folder.").absolute()


def _hosts(text: str) -> tuple[str, ...]:
    try:
        return tuple(canonical_host(part) for part in text.replace(",", " ").split())
    except ValueError as error:
        raise ConfigError(
            f"THEMESCOPE_ALLOWED_HOSTS: {error} Give names without http:// and port, separated by commas, "
            "such as themes.example.org."
        ) from None


def _folders(text: str) -> tuple[Path, ...]:
    advice = f"Correct THEMESCOPE_IMPORT_FOLDERS: absolute paths, separated by {os.pathsep!r}."
    folders = tuple(at_home(part.strip(), advice) for part in text.split(os.pathsep) if part.strip())
    for folder in folders:
        if not folder.is_absolute():
            raise ConfigError(f"{str(folder)!r} is not an absolute path. {advice}")
    return folders


def _platform_home(environ: Mapping[str, str]) -> Path:
    """Return the platform's folder for application data."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "themescope"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "themescope"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "themescope"
