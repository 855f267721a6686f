"""Everything that takes long, and the command line that runs the same jobs in the foreground."""
