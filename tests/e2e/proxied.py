"""Two web servers behind nginx with HTTPS, configured as in docs/deploy; each server can be killed."""

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.places import ROOT
from tests.servers import free_port

CONFIGURATION = ROOT / "docs" / "deploy" / "nginx.conf"
START_S = 120.0


@dataclass
class Installation:
    """Running processes of one installation."""

    folder: Path
    environment: Mapping[str, str]
    port: int
    web_ports: list[int]
    web: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Address that browsers open."""
        return f"https://127.0.0.1:{self.port}"

    def start_web(self, number: int) -> None:
        flags = ["--server.address", "127.0.0.1", "--server.port", str(self.web_ports[number])]
        command = [sys.executable, "-m", "themescope.webapp.server", *flags, "--server.headless", "true"]
        with (self.folder / f"web-{number}.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=dict(self.environment), stdout=log, stderr=log)
        self.web.append(process)

    def wait_for_web(self, number: int) -> None:
        """Wait until a web server is ready."""
        wait_for(f"http://127.0.0.1:{self.web_ports[number]}/readyz", self.folder)

    def web_of(self, route: str) -> subprocess.Popen[bytes]:
        """Return the web server that a routing cookie ("a" or "b") names."""
        return self.web["ab".index(route)]

    def stop(self) -> None:
        """Stop all processes."""
        for process in self.web:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.web:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def installation(folder: Path, environment: Mapping[str, str]) -> Iterator[Installation]:
    """Start nginx and two web servers; ``environment`` has the settings of Themescope."""
    ports = [free_port() for _ in range(4)]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", **environment}
    found = Installation(folder, settings, ports[0], ports[1:3])
    write_certificate(folder)
    configuration = folder / "nginx.conf"
    configuration.write_text(configuration_for(folder, found.port, ports[3], found.web_ports), encoding="utf-8")
    proxy: subprocess.Popen[bytes] | None = None
    try:
        for number in range(2):
            found.start_web(number)
        for number in range(2):
            found.wait_for_web(number)
        with (folder / "nginx.log").open("ab") as log:
            proxy = subprocess.Popen([str(nginx()), "-c", str(configuration)], stdout=log, stderr=log)
        wait_for(f"{found.url}/healthz", folder)
        yield found
    finally:
        if proxy is not None:
            proxy.terminate()
            proxy.wait(20)
        found.stop()


def nginx() -> str | None:
    """Return the path of nginx, which Debian keeps outside of the path of users; None if it is not installed."""
    return shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")))


def configuration_for(folder: Path, port: int, redirect_port: int, web_ports: list[int]) -> str:
    """Return the configuration of docs/deploy with these ports of the loopback address and files in ``folder``."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    text = re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)
    values = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80": f"listen 127.0.0.1:{redirect_port}",
        "8501": str(web_ports[0]),
        "8502": str(web_ports[1]),
        "themes.example.org": "127.0.0.1",
        "/etc/ssl/themescope": str(folder),
    }
    # In one pass: a free port may contain the digits of another one.
    text = re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], text)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "user root;" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""
    head = f"{user}\ndaemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
    return f"{head}http {{\naccess_log off;\n{paths}\n{text}\n}}\n"


def write_certificate(folder: Path) -> None:
    """Write a self-signed certificate for 127.0.0.1 and its key."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / "privkey.pem"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    command = ["openssl", "req", "-x509", *key, *name, "-out", folder / "fullchain.pem"]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def trusting(folder: Path) -> ssl.SSLContext:
    """Return a context that trusts the certificate in ``folder``."""
    return ssl.create_default_context(cafile=str(folder / "fullchain.pem"))


def wait_for(url: str, folder: Path) -> None:
    """Wait until ``url`` is answered with status 200."""
    until = time.monotonic() + START_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10, context=trusting(folder)):
                return
        except OSError:
            if time.monotonic() > until:
                logs = "\n".join(log.read_text(errors="replace")[-1500:] for log in folder.glob("*.log"))
                raise SystemExit(f"{url} does not answer.\n{logs}") from None
            time.sleep(0.1)
