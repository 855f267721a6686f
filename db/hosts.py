"""Canonical form of host names and IP addresses."""

from __future__ import annotations

import ipaddress
import re

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
_HEADER = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]+)(?::([0-9]{1,5}))?")


def canonical_host(text: str) -> str:
    """Return a host name or an IP address as browsers send it: lower case, ASCII, no brackets, no final dot.

    Raises
    ------
    ValueError
        If ``text`` is neither.
    """
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        return _canonical_address(bare)
    except ValueError:
        name = text.lower().removesuffix(".")
    name = name if name.isascii() else name.encode("idna").decode("ascii")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{text!r} is not a host name.")
    return name


def _canonical_address(text: str) -> str:
    """Return an IP address without its zone; an IPv4 address inside an IPv6 one as itself."""
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def split_host(header: str) -> tuple[str, int | None]:
    """Return the canonical host and the port (None: the scheme's own) of ``host:port``, as in a ``Host`` header.

    Raises
    ------
    ValueError
        If the header is not of that form.
    """
    found = _HEADER.fullmatch(header)
    if found is None:
        raise ValueError(f"{header!r} is not a host with an optional port.")
    return canonical_host(found[1]), int(found[2]) if found[2] else None
