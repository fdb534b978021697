"""Counterexample pages: single HTML files that need no network, no server and no other file."""
