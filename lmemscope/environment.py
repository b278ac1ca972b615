"""What the current directory may not decide: which modules, programs and libraries are loaded.

It may be a directory of sources to scan, with a ``json.py``, a ``git`` or a ``libz.so.1`` of its
own. An empty or relative entry of a search path means that directory, so none is kept, here or for
the programs that are started.

This is imported before anything else is, while the current directory may still be searched: so it
imports nothing that Python has not loaded by then, ``__future__`` included.
"""

import os
import sys

OWN = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir))
"""Where this package is imported from."""
_LIBRARIES = "LD_LIBRARY_PATH"


def import_path() -> list[str]:
    """Where to import from: where this process does, but not from the current directory.

    Neither from there nor by relative entries of PYTHONPATH, unless this package itself came so.
    """
    try:
        relative = [one for one in _entries("PYTHONPATH") if not os.path.isabs(one)]
        refused = {os.path.realpath(one) for one in (os.curdir, *relative)}
    except OSError:
        # The current directory is gone: nothing is imported from there.
        refused = set()
    path = []
    for entry in sys.path:
        real = os.path.realpath(entry)
        if real == OWN or (real not in refused and os.path.isabs(entry)):
            path.append(os.path.abspath(entry))
    # Behind the others: what lies beside the package must not hide the standard library.
    if OWN not in map(os.path.realpath, path):
        path.append(OWN)
    return path


def settle() -> None:
    """Make the program search for nothing in the current directory.

    The loader of libraries read its variable before Python began, so this may start the program
    once more, in its own place.
    """
    sys.path[:] = import_path()
    settled = cleaned()
    again = settled.get(_LIBRARIES) != os.environ.get(_LIBRARIES)
    os.environ.clear()
    os.environ.update(settled)
    if again and sys.executable:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def cleaned() -> dict[str, str]:
    """This process's environment, where no search path means the current directory."""
    found = dict(os.environ)
    if "PATH" in found:
        found["PATH"] = _absolute("PATH") or os.defpath
    libraries = _absolute(_LIBRARIES)
    if libraries:
        found[_LIBRARIES] = libraries
    else:
        found.pop(_LIBRARIES, None)
    return found


def for_tools() -> dict[str, str]:
    """The same for a tool that is started.

    nvcc puts its own directory and a colon before LD_LIBRARY_PATH (``nvcc.profile``). Where that
    is empty, the compilers it starts look for every library in the current directory first
    (measured with 13.5). So it never is.
    """
    found = cleaned()
    found.setdefault(_LIBRARIES, os.devnull)
    return found


def _absolute(name: str) -> str:
    """The value of a search path without the entries that mean the current directory."""
    return os.pathsep.join(one for one in _entries(name) if os.path.isabs(one))


def _entries(name: str) -> list[str]:
    value = os.environ.get(name, "")
    return value.split(os.pathsep) if value else []
