"""What Streamlit serves: the pages, with a gate before uploads. Run by :mod:`webapp.server`."""

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from webapp.middleware import Gate

app = App(Path(__file__).with_name("app.py"), middleware=[Middleware(Gate)])
