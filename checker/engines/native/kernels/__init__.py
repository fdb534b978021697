"""Kernels beside the search: on arrays of states, on rows of states, and on one state."""
