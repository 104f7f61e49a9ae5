"""The operating system: memory, files, folders, signals and optional libraries."""
