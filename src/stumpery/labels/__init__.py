"""Labels, classes and sample weights: validation and coding."""
