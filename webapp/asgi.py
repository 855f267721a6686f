"""The ASGI application: Streamlit behind the middleware of :mod:`webapp.middleware`. Run by :mod:`webapp.server`."""

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from webapp.middleware import HostCheck, PermalinkRedirect, SecurityHeaders, UploadCheck, server_error
from webapp.status import ROUTES, RequestMetrics

app = App(
    Path(__file__).with_name("app.py"),
    routes=ROUTES,
    middleware=[
        Middleware(RequestMetrics),
        Middleware(SecurityHeaders),
        Middleware(HostCheck),
        Middleware(UploadCheck),
        Middleware(PermalinkRedirect),
    ],
    exception_handlers={Exception: server_error},
)
