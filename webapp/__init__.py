"""Streamlit pages and the web server."""
