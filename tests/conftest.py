"""What pytest is not to import: programs, which tests start in processes of their own."""

collect_ignore = ["programs"]
