"""Traces: the file format, and the replay of a trace through the interpreter."""
