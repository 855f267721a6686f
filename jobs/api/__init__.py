"""The application of the HTTP API, which the web server mounts and the MCP server calls in process."""

API = "/api/v1"
"""Path of the HTTP API on the web server."""
