"""Frame of every page: header with the project and the jobs, and steps of a project."""
