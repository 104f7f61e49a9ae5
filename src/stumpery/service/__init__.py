"""The decision service: decisions and rewards over HTTP, on a durable event log."""
