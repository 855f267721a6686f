"""The ASGI application: Streamlit behind middleware, and the routes of this server. Run by ``webapp.server``."""

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from themescope.webapp.routes import addresses, api, documentation, sign_in, status
from themescope.webapp.routes.first_page import FirstPage
from themescope.webapp.routes.middleware import Compression, HostCheck, SecurityHeaders, SessionCheck, server_error

app = App(
    Path(__file__).with_name("app.py"),
    routes=[*status.ROUTES, *sign_in.ROUTES, *documentation.ROUTES, *api.ROUTES, *addresses.ROUTES],
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(HostCheck),
        Middleware(SessionCheck),
        Middleware(Compression),
        Middleware(FirstPage),
    ],
    exception_handlers={Exception: server_error},
)
