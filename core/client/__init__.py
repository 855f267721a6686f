"""Client of the HTTP API, and the records that it returns."""
