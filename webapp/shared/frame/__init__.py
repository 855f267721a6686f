"""Frame of every page: header with the project and the jobs, tour, and steps of a project."""
