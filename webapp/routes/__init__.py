"""HTTP routes of the web server beside the pages, and the middleware in front of all."""
