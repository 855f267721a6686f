"""Background jobs, and the command line, which runs the same jobs in the foreground."""
