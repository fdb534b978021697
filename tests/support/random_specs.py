"""What tests of random specs share: how many specs they try, and the sources of specs over the whole language.

`TIDEMARK_PROFILE=thorough` tries many more specs than the default profile, and other ones each time.
"""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.agreement.spec_source import spec_source

THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"


def profile(examples: int, *, thorough: int, **more) -> settings:
    return settings(
        max_examples=thorough if THOROUGH else examples,
        derandomize=not THOROUGH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        **more,
    )


@st.composite
def sources(draw: st.DrawFn) -> str:
    return spec_source(lambda count: draw(st.integers(0, count - 1)))
