"""Real datasets: registry, download, checksums and loading."""
