"""`python -m checker`."""

import gc
import os
import sys


def main() -> int:
    """Run the command line and return its exit status."""
    # Start-up and compilation create many objects that stay alive. Fewer collections save time.
    gc.set_threshold(50_000)
    # NumPy's library of linear algebra, which nothing here calls, would start a thread for each CPU core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from checker.cli.app import main as command_line
    except KeyboardInterrupt:
        return 3
    except ImportError as error:
        print(f"error: {error}: install tidemark again, with all packages that it needs", file=sys.stderr)
        return 2
    return command_line()


if __name__ == "__main__":
    sys.exit(main())
