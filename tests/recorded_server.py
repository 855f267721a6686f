"""The web process with a record of its look-ups: ``python -m tests.recorded_server RECORD FLAG …``.

Each line of the file RECORD is a host that the process resolved or an address that it connected to.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

EVENTS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.connect", "socket.sendto")


def record_into(path: str) -> None:
    """Append to ``path`` from now on. An audit hook hears of it before anything is resolved or sent."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in EVENTS:
            target = arguments[1] if event in ("socket.connect", "socket.sendto") else arguments[0]
            os.write(descriptor, f"{event} {target!r}\n".encode())

    sys.addaudithook(hook)


def looked_up(record: Path) -> list[str]:
    """Return the hosts and addresses in a record, without those of this machine."""
    lines = record.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not re.search(r"'(localhost|127\.0\.0\.1|0\.0\.0\.0|::1?)'| None$", line)]


def main() -> None:
    """Record, and serve."""
    record_into(sys.argv.pop(1))
    from themescope.webapp import server as web
    from themescope.webapp.routes import api

    # The site that the tests built, rather than that of `make docs`.
    api.SITE = Path(os.environ.get("DOCUMENTATION_SITE") or api.SITE)
    web.main()


if __name__ == "__main__":
    main()
