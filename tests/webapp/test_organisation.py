"""Sign-in through a real identity provider: state, nonce, who is vouched for, and errors."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest
from starlette.testclient import TestClient

from tests.event_loops import run
from tests.jobs.helpers import wait_for
from tests.servers import answers, free_port
from tests.webapp.browsers import INSIDE, admitted, browser, token_of
from themescope.core.records.stored import Role
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.webapp.routes import sign_in
from themescope.webapp.routes.middleware import REFUSED
from themescope.webapp.shared.people import form_token

pytestmark = pytest.mark.usefixtures("cheap_passwords")


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """The address of a real identity provider with three people."""
    port = free_port()
    claims = [
        {"sub": "1", "email": "ada@example.org", "email_verified": True},
        {"sub": "2", "email": "lea@example.org", "email_verified": False},
        {"sub": "3", "email": "mallory@example.org", "preferred_username": "ada@example.org"},
    ]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce", "true"]
    command += [part for claim in claims for part in ("--user-claims", json.dumps(claim))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://localhost:{port}"
    try:
        wait_for(lambda: answers(f"{address}/.well-known/openid-configuration"))
        yield address
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def by_organisation(shared: Store, provider: str) -> Store:
    people.add(shared, "ada@example.org", Role.ADMIN, None)
    people.add(shared, "lea@example.org", Role.LABELLER, None)
    shared.settings.secrets_file.write_text(
        "[auth]\n"
        'redirect_uri = "http://localhost:8501/oauth2callback"\nclient_id = "themescope"\nclient_secret = "secret"\n'
        f'server_metadata_url = "{provider}/.well-known/openid-configuration"\n',
        encoding="utf-8",
    )
    return shared


def answer_of(client: TestClient, subject: str) -> str:
    """Sign in at the provider; return the address that it leads the browser back to."""
    assert "Sign in with your organisation" in client.get("/sign-in").text
    to = client.get("/sign-in/organisation?next=/map").headers["location"]
    assert "code_challenge" in to and "nonce" in to and "state" in to
    back = httpx.post(to, data={"sub": subject}, trust_env=False, timeout=30)
    assert back.status_code == 302 and back.headers["location"].startswith("http://localhost:8501/oauth2callback")
    return str(back.headers["location"])


def test_people_sign_in_through_an_identity_provider_and_out(by_organisation: Store, provider: str) -> None:
    client = browser()
    back = answer_of(client, "1")
    before = token_of(client)
    answer = client.get(back)
    assert (answer.status_code, answer.headers["location"]) == (303, "/map")
    session = people.session_of(by_organisation, token_of(client))
    assert session is not None and (session.person, session.method) == ("ada@example.org", "organisation")
    assert token_of(client) != before and client.get("/map").text == INSIDE
    assert client.get(back).status_code == 403  # an answer counts once
    out = client.post("/sign-out", data={"form_token": form_token(token_of(client))})
    assert out.headers["location"].startswith(f"{provider}/oauth2/end_session?client_id=themescope&")
    assert people.session_of(by_organisation, token_of(client)) is None and client.get("/map").text == REFUSED


def test_who_is_not_vouched_for_or_has_no_account_is_refused(by_organisation: Store) -> None:
    for subject, said in (("2", "has no account"), ("3", "mallory@example.org has no account")):
        client = browser()
        answer = client.get(answer_of(client, subject))
        assert answer.status_code == 403 and said in answer.text
        assert admitted(client) == set()


def test_an_answer_for_another_browser_is_refused(by_organisation: Store) -> None:
    back = answer_of(browser(), "1")
    victim = browser()
    for address in (back, re.sub("state=[^&]+", "state=x", back), "/oauth2callback?error=access_denied"):
        answer = victim.get(address)
        assert answer.status_code == 403 and "sign-in through your organisation failed" in answer.text
    assert admitted(victim) == set()


def test_a_provider_that_is_not_configured_or_reached_is_told(by_organisation: Store) -> None:
    path = by_organisation.settings.secrets_file
    complete = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"localhost:\d+/\.well", f"localhost:{free_port()}/.well", complete), encoding="utf-8")
    answer = browser().get("/sign-in/organisation")
    assert answer.status_code == 503 and "cannot be reached" in answer.text
    path.write_text('[auth]\nclient_id = "x"\n', encoding="utf-8")
    answer = browser().get("/sign-in/organisation")
    assert answer.status_code == 503 and "has no redirect_uri, client_secret" in answer.text


def test_an_identity_provider_is_set_up_by_a_file(settings: Settings) -> None:
    settings.home.mkdir(parents=True)
    files = {"": False, "[other]\nx = 1\n": False, "[auth": False, '[auth]\nclient_id = "x"\n': True}
    for text, found in files.items():
        settings.secrets_file.write_text(text, encoding="utf-8")
        assert sign_in.is_configured() is found


def test_only_the_key_of_the_provider_signs(by_organisation: Store) -> None:
    """Its metadata may allow tokens without a signature, or signed with our secret, which others may know."""
    from joserfc import jws, jwt
    from joserfc.jwk import OctKey, RSAKey

    own, ours = RSAKey.generate_key(2048), OctKey.import_key("secret" * 8)
    client = sign_in._client()
    client.server_metadata |= {
        "_loaded_at": time.time(), "issuer": "it", "jwks": {"keys": [own.as_dict(private=False)]},
        "id_token_signing_alg_values_supported": ["none", "HS256", "RS256"],
    }  # fmt: skip
    now = int(time.time())
    claims = {"iss": "it", "sub": "1", "aud": "themescope", "nonce": "n", "iat": now, "exp": now + 60}
    registry = jws.JWSRegistry(algorithms=["none", "HS256", "RS256"])

    def read(sign: str, key: OctKey | RSAKey) -> str:
        token = jwt.encode({"alg": sign}, claims, key, registry=registry)
        return str(run(lambda: client.parse_id_token({"id_token": token}, "n"))["sub"])

    assert read("RS256", own) == "1"
    for sign in ("none", "HS256"):
        with pytest.raises(Exception, match="lgorithm"):
            read(sign, ours)


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ({"email": "ada@example.org", "email_verified": True, "sub": "1"}, "ada@example.org"),
        ({"email": "ada@example.org", "sub": "1"}, "ada@example.org"),
        ({"email": "ada@example.org", "email_verified": "true", "sub": "1"}, "ada@example.org"),
        *(({"email": "ada@example.org", "email_verified": v, "sub": "1"}, "") for v in (False, "false", "no", None, 0)),
        ({"preferred_username": "ada@example.org", "sub": "1"}, "1"),
        ({"name": "ada@example.org"}, ""),
        ({"email": ["ada@example.org"], "sub": 7}, ""),
        ({"email": "x" * 60 + "@example.org", "sub": "1"}, ""),
        ({"email": "ada@example.org\u200b", "sub": "1"}, ""),
    ],
)
def test_what_an_organisation_vouches_for(user: dict[str, object], name: str) -> None:
    """Many providers let people choose their ``preferred_username``, so it says nothing of who they are."""
    assert sign_in.vouched(user) == name
