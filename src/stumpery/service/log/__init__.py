"""The event log: one totally ordered, durable list of events."""
