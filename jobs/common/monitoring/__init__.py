"""Log records and metrics of a process."""
