"""Studies of classifiers on streams."""
