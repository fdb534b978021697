"""Exploration on a graphics card of NVIDIA: the spec's lowered functions, in kernels that thousands of threads run.

Read in this order: `memory` (the arrays, and the status that the host reads), `kernels` (what the threads do), `search`
(the host's loop over levels), `engine`. `ptx` and `driver` connect them with the card.
"""
