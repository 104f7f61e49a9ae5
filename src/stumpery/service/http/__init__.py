"""The HTTP interface: routes, messages, keys, limits and metrics."""
