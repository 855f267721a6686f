"""The ASGI application: Streamlit behind middleware, and the routes of this server. Run by ``webapp.server``."""

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from themescope.webapp.routes import api, middleware, sign_in
from themescope.webapp.routes.middleware import (
    Compression,
    FirstPage,
    HostCheck,
    SecurityHeaders,
    SessionCheck,
    server_error,
)

app = App(
    Path(__file__).with_name("app.py"),
    routes=[*middleware.STATUS, *sign_in.ROUTES, *api.DOCUMENTATION_ROUTES, *api.ROUTES, *api.ADDRESSES],
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(HostCheck),
        Middleware(SessionCheck),
        Middleware(Compression),
        Middleware(FirstPage),
    ],
    exception_handlers={Exception: server_error},
)
