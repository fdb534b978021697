"""`python -m checker`."""

import atexit
import contextlib
import gc
import os
import sys
import threading
from typing import NoReturn

_ADDRESS_SPACE = 350 << 20
"""The bytes that the interpreter and the libraries take. With fewer, NumPy may end the process with status 1."""


def _is_address_space_short() -> bool:
    """Return whether the process has a limit of its address space that is too low for the libraries."""
    try:
        import resource
    except ImportError:
        return False
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limit != resource.RLIM_INFINITY and limit < _ADDRESS_SPACE


def _search_working_directory_last() -> None:
    """Let the packages of this distribution come before packages of the same names in the working directory.

    `python -m` puts the working directory first on the path; the command `tidemark` does not search it. Both must find
    the same specs. In a checkout, the working directory has these packages.
    """
    first = sys.path[0] if sys.path else ""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        is_working_directory = first in ("", os.getcwd())
    except OSError:
        return
    if is_working_directory and not sys.flags.safe_path and os.path.abspath(first) != own:
        sys.path.append(sys.path.pop(0))


def main() -> int:
    """Run the command line and return its exit status."""
    # Start-up and compilation create many objects that stay alive. Fewer collections save time.
    gc.set_threshold(300_000)
    # NumPy's library of linear algebra, which nothing here calls, would start a thread for each CPU core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if _is_address_space_short():
        print(
            f"error: less than {_ADDRESS_SPACE >> 20} MB of address space: raise its limit (ulimit -v)", file=sys.stderr
        )
        return 3
    _search_working_directory_last()
    try:
        from checker.cli.app import main as command_line
        from checker.run import command_process
    except KeyboardInterrupt:
        return 3
    except ImportError as error:
        print(f"error: {error}: install tidemark again, with all packages that it needs", file=sys.stderr)
        return 2
    command_process.begin()
    return command_line()


def command() -> NoReturn:
    """Run the command line and end the process with its exit status."""
    _end(main())


def _end(status: int) -> NoReturn:
    """End the process without the interpreter's clean-up, which takes longer than many explorations.

    The functions that `atexit` has are called. Python ends the process itself if it would wait for a thread, if a
    stream cannot be written, and if the process is profiled or traced: the results are often written after the end.
    """
    others = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    if all(thread.daemon for thread in others) and not _is_observed():
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    sys.exit(status)


def _is_observed() -> bool:
    """Return whether a profiler, debugger or measurement of coverage observes this process."""
    monitoring = getattr(sys, "monitoring", None)
    tools = [] if monitoring is None else [monitoring.get_tool(number) for number in range(6)]
    return any(observer is not None for observer in (sys.gettrace(), sys.getprofile(), *tools))


if __name__ == "__main__":
    command()
