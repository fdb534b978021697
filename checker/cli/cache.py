"""The commands `cache show` and `cache clear`."""

from __future__ import annotations

from checker.printable import quantity


def show() -> None:
    """Show the folder and the size of the cache of machine code."""
    from checker.engines.native.llvm import code_cache

    size = code_cache.size()
    if problem := code_cache.problem():
        print(f"not used: {problem}")
    else:
        print(f"{code_cache.folder()}: {quantity(size.entries, 'entry')}, {size.bytes / 2**20:.1f} MB")


def clear() -> None:
    """Remove all machine code from the cache."""
    from checker.engines.native.llvm import code_cache

    removed = code_cache.clear()
    print(f"removed {quantity(removed.entries, 'entry')}, {removed.bytes / 2**20:.1f} MB")
