"""The releases of Apache Kafka, and the order of version numbers: plain Python, which every tool can import."""

import bisect
from functools import cache

RELEASES = tuple(" ".join((
    "0.10.0.0 0.10.0.1 0.10.1.0 0.10.1.1 0.10.2.0 0.10.2.1 0.10.2.2",
    "0.11.0.0 0.11.0.1 0.11.0.2 0.11.0.3 1.0.0 1.0.1 1.0.2 1.1.0 1.1.1",
    "2.0.0 2.0.1 2.1.0 2.1.1 2.2.0 2.2.1 2.2.2 2.3.0 2.3.1 2.4.0 2.4.1 2.5.0 2.5.1",
    "2.6.0 2.6.1 2.6.2 2.6.3 2.7.0 2.7.1 2.7.2 2.8.0 2.8.1 2.8.2",
    "3.0.0 3.0.1 3.0.2 3.1.0 3.1.1 3.1.2 3.2.0 3.2.1 3.2.2 3.2.3 3.3.0 3.3.1 3.3.2 3.4.0 3.4.1",
    "3.5.0 3.5.1 3.5.2 3.6.0 3.6.1 3.6.2 3.7.0 3.7.1 3.7.2 3.8.0 3.8.1 3.9.0 3.9.1 3.9.2",
    "4.0.0 4.0.1 4.0.2 4.1.0 4.1.1 4.1.2 4.2.0 4.2.1 4.2.2 4.3.0 4.3.1 4.4.0",
)).split())  # fmt: skip
"""Every release since 0.10.0.0, in the order of its number. Source: the metadata of org.apache.kafka:kafka-clients."""

OLDEST_SUPPORTED = "2.0.0"
"""The oldest release of which the rules that tools need are recorded."""


@cache
def release_number(version: str) -> tuple[int, int, int, int]:
    """Return a version as a number that can be compared; missing parts are 0, so 2.8 is 2.8.0.

    Raises:
        ValueError: the text is not of the form 3.7, 3.0.1 or 0.10.2.0.
    """
    parts = version.split(".")
    if not 2 <= len(parts) <= 4 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"{version} is not a version such as 3.7 or 3.0.1")
    major, minor, patch, fourth = (*map(int, parts), 0, 0)[:4]
    return major, minor, patch, fourth


@cache
def release_line(version: str) -> tuple[int, ...]:
    """Return the branch of a release, on which only patch releases follow: (3, 7), or (0, 10, 2) before 1.0."""
    number = release_number(version)
    return number[:2] if number[0] else number[:3]


def find_release(version: str, oldest: str = OLDEST_SUPPORTED) -> str:
    """Return the full number of a release, such as 2.8.0 for 2.8.

    Raises:
        ValueError: no release since `oldest` has this number (the message names the nearest), or it is no version.
    """
    number = release_number(version)
    known = [release for release in RELEASES if release_number(release) >= release_number(oldest)]
    numbers = [release_number(release) for release in known]
    place = bisect.bisect_left(numbers, number)
    if place < len(known) and numbers[place] == number:
        return known[place]
    nearest = known[max(place - 1, 0) : place + 1]
    raise ValueError(
        f"Kafka {version} is not a release from {known[0]} to {known[-1]}: "
        f"the nearest {'is' if len(nearest) == 1 else 'are'} {' and '.join(nearest)}"
    )


def describe_releases(releases: list[str]) -> str:
    """Return releases as text with a range for each run of consecutive ones: "2.8.0, 3.0.0 to 3.4.0"."""
    places = sorted(RELEASES.index(release) for release in releases)
    firsts = [place for place in places if place - 1 not in places]
    lasts = [place for place in places if place + 1 not in places]
    runs = [(RELEASES[first], RELEASES[last]) for first, last in zip(firsts, lasts, strict=True)]
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in runs)
