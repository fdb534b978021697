"""Traces: their file format, replay, shrinking and comparison; validation of recorded logs; tables of random walks."""
