"""Records: repositories return them, services pass them on, the HTTP API sends them and its client returns them."""
