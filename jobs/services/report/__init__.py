"""Report of a project, and the files that it is written as."""
