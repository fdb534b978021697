"""Makes the generator of random specs and the comparisons of `tests/agreement` importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "agreement"))
