"""Operations on labellings for pages, the command line and the load test, without background jobs."""
