"""The HTTP API under ``/api/v1``, which programs use with the token of a person."""
