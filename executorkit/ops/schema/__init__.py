"""What an operator is: its registry, attributes, inference of shapes and types, calls. No JAX."""
