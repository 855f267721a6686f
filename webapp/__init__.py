"""Streamlit pages: choose, ask, show."""
