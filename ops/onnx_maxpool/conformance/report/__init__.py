"""A run's results as pages and files."""
