"""Trees as arrays: growth, routing and statistics as kernels."""
