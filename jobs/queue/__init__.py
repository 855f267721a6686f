"""The job queue: enqueue, claim, heartbeat, recovery and execution."""
