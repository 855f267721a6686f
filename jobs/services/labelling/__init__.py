"""Working in labellings: what pages, the command line and the load test call; none of it is a background job."""
