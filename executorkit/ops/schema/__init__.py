"""The schema of operators: definitions, attributes, inference rules, calls. No jax in here."""
