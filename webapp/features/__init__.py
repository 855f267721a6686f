"""One package per page of the application."""
