"""The web process with a record of its look-ups: ``python -m tests.recorded_server RECORD FLAG …``.

Each line of the file RECORD is a host that the process resolved or an address that it connected to. The paths of its
routes are beside it, in ``routes.json``.
"""

import json
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
    record = sys.argv.pop(1)
    record_into(record)
    from streamlit.starlette import App

    from themescope.webapp import server as web
    from themescope.webapp.routes import api

    build = App._build_starlette_app

    def with_routes(app: App) -> Any:
        built = build(app)
        paths = json.dumps([route.path for route in built.routes])
        Path(record).with_name("routes.json").write_text(paths, encoding="utf-8")
        return built

    App._build_starlette_app = with_routes  # type: ignore[method-assign]
    # The site that the tests built, rather than that of `make docs`.
    api.SITE = Path(os.environ.get("DOCUMENTATION_SITE") or api.SITE)
    web.main()


if __name__ == "__main__":
    main()
