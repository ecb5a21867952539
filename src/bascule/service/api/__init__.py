"""The HTTP API: experiments, assignment, outcomes, OFREP, plans and health checks."""
