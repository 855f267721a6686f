"""Client of the HTTP API, and the records that it returns.

Use :class:`themescope.Client`. The package imports httpx and pydantic when a client is made.
"""
