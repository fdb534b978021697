"""`python -m checker`."""

import gc
import sys


def main() -> int:
    """Run the command line and return its exit status."""
    # Start-up and compilation create many objects that stay alive. Fewer collections save time.
    gc.set_threshold(50_000)
    from checker.cli.app import main as command_line

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
