"""Compiled programs kept in files for later processes."""
