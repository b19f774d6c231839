"""How fast it is, always as a ratio to the bare thing; see README.md beside this file."""
