"""Counterexamples as pages: each one a single HTML file that needs no network, no server and no other file."""
