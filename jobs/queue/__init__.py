"""The job queue, which is the table of jobs: enqueue, claim, heartbeat, recovery and execution."""
