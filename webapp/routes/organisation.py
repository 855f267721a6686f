"""Sign-in through an identity provider (OpenID Connect), configured in the section ``auth`` of the secrets file."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin

from starlette.requests import Request
from starlette.responses import Response

from themescope.core.errors import AccessError, ConfigError
from themescope.db.settings import Settings
from themescope.jobs.services.accounts.people import tidy
from themescope.webapp.routes.middleware import SIGN_IN

logger = logging.getLogger(__name__)

_SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Ways of signing that only the provider can do; HMAC would do with our client secret."""
_NEEDED = ("redirect_uri", "client_id", "client_secret", "server_metadata_url")


def is_configured() -> bool:
    """Return whether an identity provider is configured."""
    return bool(_configuration())


def _configuration() -> dict[str, Any]:
    try:
        with Settings.from_environment().secrets_file.open("rb") as stream:
            return dict(tomllib.load(stream).get("auth", {}))
    except (OSError, tomllib.TOMLDecodeError):
        return {}


async def redirect(request: Request) -> Response:
    """Redirect to the provider. Raises :class:`ConfigError` if it cannot be reached or is not configured completely."""
    configuration = _configuration()
    if missing := [name for name in _NEEDED if not configuration.get(name)]:
        path = Settings.from_environment().secrets_file
        raise ConfigError(f"The section [auth] of {path} has no {', '.join(missing)}. See docs/sharing.md.")
    try:
        answer: Response = await _client().authorize_redirect(request, configuration["redirect_uri"])
    except Exception as error:
        logger.exception("The identity provider cannot be reached.")
        raise ConfigError("The identity provider of your organisation cannot be reached. Try again later.") from error
    return answer


async def person(request: Request) -> str:
    """Return the name for which the provider vouches; raise :class:`AccessError` if it vouches for none."""
    try:
        token = await _client().authorize_access_token(request)
    except Exception as error:
        logger.warning("A sign-in through the identity provider failed: %s", type(error).__name__, exc_info=True)
        raise AccessError("The sign-in through your organisation failed. Try again.") from error
    return vouched(token.get("userinfo") or {})


def vouched(user: Mapping[str, Any]) -> str:
    """Return the name that an identity provider vouches for: a verified e-mail address, else its subject id.

    "" if there is neither, or if the value is not a normalised name, which could be confused with another person's.
    """
    name = user.get("email") or user.get("sub")
    stated = user.get("email_verified", True)  # many providers say nothing
    refused = bool(user.get("email")) and stated is not True and str(stated).lower() != "true"
    return name if isinstance(name, str) and not refused and tidy(name) == name else ""


async def sign_out_address() -> str:
    """Return where a browser signs out at the provider, which then returns here; our sign-in page if it offers none."""
    try:
        end = (await _client().load_server_metadata()).get("end_session_endpoint")
    except Exception:
        logger.exception("The identity provider cannot be reached.")
        end = None
    if not end:
        return SIGN_IN
    configuration = _configuration()
    back = urljoin(configuration["redirect_uri"], SIGN_IN)
    return f"{end}?{urlencode({'client_id': configuration['client_id'], 'post_logout_redirect_uri': back})}"


def _client() -> Any:
    return _registered(Settings.from_environment().secrets_file, tuple(_configuration().get(n, "") for n in _NEEDED))


@lru_cache(maxsize=1)
def _registered(path: Path, values: tuple[str, ...]) -> Any:
    """Return the client, which keeps the metadata of the provider."""
    from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App

    class Client(StarletteOAuth2App):
        async def load_server_metadata(self) -> dict[str, Any]:
            """Return the metadata; of the ways to sign, only those with the provider's own key, so never ``none``."""
            found: dict[str, Any] = await super().load_server_metadata()
            signs = found.get("id_token_signing_alg_values_supported") or ()
            found["id_token_signing_alg_values_supported"] = [sign for sign in signs if sign in _SIGNATURES]
            return found

    class Provider(OAuth):
        oauth2_client_cls = Client

    _, client_id, client_secret, server_metadata_url = values
    return Provider().register(
        "organisation",
        client_id=client_id,
        client_secret=client_secret,
        server_metadata_url=server_metadata_url,
        client_kwargs={"scope": "openid email profile", "prompt": "select_account", "code_challenge_method": "S256"},
    )
