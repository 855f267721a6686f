"""Settings of a process from environment variables, and canonical host names. Only this module reads the environment.

=============================  ========================================================================================
``THEMESCOPE_HOME``            data folder: artifacts, checkpoints, SQLite file (default: ``themescope-home`` in the
                               checkout, which ``make run`` makes there, else the platform's data folder)
``DATABASE_URL``               the store: ``sqlite:///file`` or ``postgresql://user:password@host/name``
``EXECUTOR_URL``               where jobs compute: empty for processes on the worker's machine (default), ``ray://host:port``
                               for a Ray cluster, ``ray://local`` for Ray on the worker's machine
``VECTORS_URL``                folder of the vector files: ``file:///folder`` or ``s3://bucket/folder`` (default: the
                               folder ``vectors`` of the data folder)
``VECTOR_FILES_FROM``          number of sentences of a corpus from which its vectors are stored in files instead of
                               the database (default: 50,000)
``THEMESCOPE_LOGIN``           ``always``: sign-in is required on the loopback address too, as behind a proxy
                               (default: ``auto``)
``THEMESCOPE_SESSION_IDLE``    hours without use after which people sign in again (default: 12)
``THEMESCOPE_SESSION_LIMIT``   hours after which people sign in again in any case (default: 168)
``THEMESCOPE_ALLOWED_HOSTS``   further host names under which the pages may be opened, separated by commas (default:
                               none)
``THEMESCOPE_IMPORT_FOLDERS``  folders below which pages may read files by their path, separated as in ``PATH``
                               (default: none)
``THEMESCOPE_TOKEN``           token of the person for whom ``themescope mcp`` acts (default: none, the owner of the
                               data folder)
``THEMESCOPE_LOG_FORMAT``      ``json``: log records of the web server and of workers are JSON objects, one per line
                               (default: ``text``)
``LLM_URL``                    OpenAI-compatible endpoint of a language model for names of themes, such as
                               ``http://localhost:11434`` (default: none)
``LLM_MODEL``                  name of the language model at that endpoint
``LLM_API_KEY``                key that requests to that endpoint send (default: none)
=============================  ========================================================================================
"""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from themescope.core.errors import ConfigError
from themescope.core.paths import expand_home

VECTOR_FILES_FROM = 50_000
"""Sentences from which vectors are stored in files: about 40 MB at 384 dimensions, several files."""
SESSION_IDLE_H, SESSION_LIMIT_H = 12, 168
"""Hours without use, and hours in any case, after which a session ends."""
_MOST_HOURS = 9_600  # 400 days: browsers keep no cookie for longer
LOGINS = ("auto", "always")
LOG_FORMATS = ("text", "json")
_STORES = ("sqlite", "postgres", "postgresql", "postgresql+psycopg")
_EXECUTOR = re.compile(r"ray://(local|[^/@\s]+:[0-9]{1,5})")
_FOLDERS = ("file", "s3")


@dataclass(frozen=True, slots=True)
class Settings:
    """Data folder, URL of the store, and access settings; ``repr`` shows no passwords."""

    home: Path
    database_url: str = field(repr=False)
    login: str = "auto"
    """When pages require sign-in: "auto" (if other machines can reach them) or "always"."""
    session_idle: timedelta = timedelta(hours=SESSION_IDLE_H)
    """Time without use after which a session ends."""
    session_limit: timedelta = timedelta(hours=SESSION_LIMIT_H)
    """Time after which a session ends in any case."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names under which the pages may be opened, in addition to this machine's own."""
    import_folders: tuple[Path, ...] = ()
    """Folders below which the pages may read files by their path. The command line may read all files."""
    executor_url: str = ""
    """Where jobs compute: empty for local processes, or "ray://host:port" or "ray://local"."""
    token: str = field(default="", repr=False)
    """Token of the person for whom the MCP server acts; empty: the owner of the data folder."""
    log_format: str = "text"
    """Format of log records: "text" or "json"."""
    vectors_url: str = ""
    """Folder of the vector files; empty: ``vectors`` in the data folder."""
    vector_files_from: int = VECTOR_FILES_FROM
    """Number of sentences of a corpus from which its vectors are stored in files."""
    llm_url: str = ""
    """OpenAI-compatible endpoint of a language model; empty for none."""
    llm_model: str = ""
    """Name of the language model at that endpoint."""
    llm_key: str = field(default="", repr=False)
    """Key that requests to that endpoint send; empty for none."""

    def __post_init__(self) -> None:
        if self.login not in LOGINS:
            raise ConfigError(f"THEMESCOPE_LOGIN must be {' or '.join(LOGINS)}, not {self.login!r}.")
        _check_scheme("DATABASE_URL", self.database_url, _STORES)
        if self.executor_url and not _EXECUTOR.fullmatch(self.executor_url):
            forms = "ray://local or ray://host:port, such as ray://127.0.0.1:10001"
            raise ConfigError(f"EXECUTOR_URL must be empty, {forms}, not {self.executor_url!r}.")
        if self.log_format not in LOG_FORMATS:
            raise ConfigError(f"THEMESCOPE_LOG_FORMAT must be {' or '.join(LOG_FORMATS)}, not {self.log_format!r}.")
        _check_language_model(self)
        if self.vectors_url:
            _check_scheme("VECTORS_URL", self.vectors_url, _FOLDERS)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Return the settings of this process; raise ``ConfigError`` if a value is invalid.

        An unset or empty variable means its default.
        """
        given = os.environ if environ is None else environ
        wanted = given.get("THEMESCOPE_HOME", "").strip()
        if wanted:
            home = expand_home(wanted, "Set THEMESCOPE_HOME to another folder.").absolute()
        else:
            home = checkout_home() or _platform_home(given)
        found = cls.in_folder(home, given.get("DATABASE_URL", "").strip())
        text = given.get("THEMESCOPE_IMPORT_FOLDERS", "")
        advice = f"Correct THEMESCOPE_IMPORT_FOLDERS: absolute paths, separated by {os.pathsep!r}."
        folders = tuple(expand_home(part.strip(), advice) for part in text.split(os.pathsep) if part.strip())
        for folder in folders:
            if not folder.is_absolute():
                raise ConfigError(f"{str(folder)!r} is not an absolute path. {advice}")
        return replace(
            found,
            login=given.get("THEMESCOPE_LOGIN", "").strip() or "auto",
            session_idle=_session_time("THEMESCOPE_SESSION_IDLE", given, SESSION_IDLE_H),
            session_limit=_session_time("THEMESCOPE_SESSION_LIMIT", given, SESSION_LIMIT_H),
            allowed_hosts=_hosts(given.get("THEMESCOPE_ALLOWED_HOSTS", "")),
            import_folders=folders,
            executor_url=given.get("EXECUTOR_URL", "").strip(),
            token=given.get("THEMESCOPE_TOKEN", "").strip(),
            log_format=given.get("THEMESCOPE_LOG_FORMAT", "").strip() or "text",
            vectors_url=given.get("VECTORS_URL", "").strip(),
            vector_files_from=_count("VECTOR_FILES_FROM", given, VECTOR_FILES_FROM, "sentences"),
            llm_url=given.get("LLM_URL", "").strip(),
            llm_model=given.get("LLM_MODEL", "").strip(),
            llm_key=given.get("LLM_API_KEY", "").strip(),
        )

    @classmethod
    def in_folder(cls, home: Path, database_url: str = "") -> Settings:
        """Return settings with the SQLite file in ``home`` unless a URL is given."""
        return cls(home, database_url or sqlite_url(home / "themescope.db"))

    @property
    def secrets_file(self) -> Path:
        """Path of the optional file with the secrets of the OIDC provider."""
        return self.home / "secrets.toml"

    @property
    def database_label(self) -> str:
        """URL of the store without its password, for display."""
        return without_password(self.database_url)


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file (``sqlite:///C:/…`` on Windows)."""
    if "?" in str(path):
        raise ConfigError(f"The data folder {path.parent} has a question mark in its name. Rename it or use another.")
    return f"sqlite:///{path.as_posix()}"


def sqlite_path(url: str) -> Path | None:
    """Return the file of a ``sqlite:///…`` URL; None for any other URL."""
    scheme, _, rest = url.partition(":///")
    return expand_home(rest.partition("?")[0]) if scheme.partition("+")[0] == "sqlite" else None


def without_password(url: str) -> str:
    """Return ``url`` with its password replaced by ``***`` and without its query."""
    parts = urlsplit(url)
    if parts.password is None and not parts.query:
        return url
    who, at, where = parts.netloc.rpartition("@")
    name, colon, _ = who.partition(":")
    shown = f"{unquote(name)}:***" if colon else name
    return urlunsplit(parts._replace(netloc=f"{shown}{at}{where}", query=""))


def _check_scheme(variable: str, url: str, known: tuple[str, ...]) -> None:
    scheme = url.partition(":")[0]
    if scheme not in known:
        raise ConfigError(
            f"{variable} has the unsupported scheme {scheme!r}. "
            f"Use one of {', '.join(s + '://…' for s in known if '+' not in s)}."
        )
    if scheme == "sqlite" and url.removeprefix("sqlite:///").strip("/") in ("", ":memory:", "sqlite:"):
        raise ConfigError(f"{variable} names no SQLite file. Write it as sqlite:///folder/file.db.")


def _hosts(text: str) -> tuple[str, ...]:
    try:
        return tuple(canonical_host(part) for part in text.replace(",", " ").split())
    except ValueError as error:
        raise ConfigError(
            f"THEMESCOPE_ALLOWED_HOSTS: {error} Write names without http:// and port, separated by commas, "
            "such as themes.example.org."
        ) from None


def _check_language_model(settings: Settings) -> None:
    """Refuse other addresses than plain ones of HTTP, since the address is shown, and keys that no header can carry."""
    if not settings.llm_url:
        return
    try:
        parts = urlsplit(settings.llm_url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid, parts = False, urlsplit("")
    if not valid or parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            "LLM_URL must be an address such as http://localhost:11434 or https://api.example.org/v1, without user, "
            "password and query. A key belongs into LLM_API_KEY."
        )
    if not settings.llm_model:
        raise ConfigError("LLM_URL is set but LLM_MODEL is not. Name the model at that endpoint.")
    if not (settings.llm_key.isascii() and settings.llm_key.isprintable()):
        raise ConfigError("LLM_API_KEY has characters that no request can send.")


def _count(variable: str, environ: Mapping[str, str], default: int, noun: str) -> int:
    text = environ.get(variable, "").strip().replace(",", "").replace("_", "")
    if text and not text.isdecimal():
        raise ConfigError(f"{variable} must be a number of {noun}, such as {default:,}, not {text!r}.")
    return int(text) if text else default


def _session_time(variable: str, environ: Mapping[str, str], default: int) -> timedelta:
    hours = _count(variable, environ, default, "hours")
    if not 1 <= hours <= _MOST_HOURS:
        raise ConfigError(f"{variable} must be between 1 and {_MOST_HOURS:,} hours, not {hours:,}.")
    return timedelta(hours=hours)


def checkout_home(root: Path = Path(__file__).parents[1]) -> Path | None:
    """Return the data folder of ``make run`` in the checkout that this code is in; None if there is none."""
    home = root / "themescope-home"
    return home if (root / "pyproject.toml").is_file() and home.is_dir() else None


def _platform_home(environ: Mapping[str, str]) -> Path:
    home = Path.home()
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "themescope"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "themescope"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "themescope"


_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
_HEADER = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]+)(?::([0-9]{1,5}))?")


def canonical_host(text: str) -> str:
    """Return a host name or an IP address as browsers send it: lower case, ASCII, no brackets, no final dot.

    Raises ``ValueError`` if ``text`` is neither.
    """
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        address = ipaddress.ip_address(bare.partition("%")[0])
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return str(mapped or address)
    except ValueError:
        name = text.lower().removesuffix(".")
    name = name if name.isascii() else name.encode("idna").decode("ascii")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{text!r} is not a host name.")
    return name


def split_host(header: str) -> tuple[str, int | None]:
    """Return the canonical host and the port (None: the default) of a ``Host`` header; ``ValueError`` if invalid."""
    found = _HEADER.fullmatch(header)
    if found is None:
        raise ValueError(f"{header!r} is not a host with an optional port.")
    return canonical_host(found[1]), int(found[2]) if found[2] else None


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach ``address``."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
