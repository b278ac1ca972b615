"""Load NVRTC from a path that the user chose, with the same calls as CuPy's binding.

CuPy loads the NVRTC it was built for. A toolkit to compare with it comes from elsewhere, and may
have another major version; both can be loaded side by side.

The signatures come from the NVRTC documentation, section "User Interface" (nvrtc.h).
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
from collections.abc import Sequence

from lmemscope.errors import ToolMissingError
from lmemscope.sources.encoding import encoded

_BUILTINS = "libnvrtc-builtins.so*"


class NVRTCError(RuntimeError):
    """A call failed; named as in CuPy's binding, which this class replaces."""


class NvrtcLibrary:
    """A loaded NVRTC.

    Args:
        path: of the shared library.

    Raises:
        ToolMissingError: it cannot be loaded.
    """

    NVRTCError = NVRTCError

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            # NVRTC opens its built-in headers by bare name, and finds them once they are loaded.
            for builtins in glob.glob(f"{glob.escape(os.path.dirname(path))}/{_BUILTINS}"):
                ctypes.CDLL(builtins)
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise ToolMissingError(
                "toolchain",
                f"NVRTC cannot be loaded from {path}: {error}",
                hint="check that --toolkit names a complete toolkit for this machine",
            ) from error
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def getVersion(self) -> tuple[int, int]:  # noqa: N802 - CuPy's names
        """(major, minor)."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def getSupportedArchs(self) -> tuple[int, ...]:  # noqa: N802
        """Architectures as numbers, ascending."""
        count = ctypes.c_int()
        self._call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", numbers)
        return tuple(numbers)

    def createProgram(  # noqa: N802
        self, source: str, name: str, headers: Sequence[str], include_names: Sequence[str]
    ) -> ctypes.c_void_p:
        """Create a program; headers are found only through options."""
        assert not headers
        assert not include_names
        program = ctypes.c_void_p()
        text, file = encoded(source), encoded(name)
        self._call("nvrtcCreateProgram", ctypes.byref(program), text, file, 0, None, None)
        return program

    def addNameExpression(self, program: ctypes.c_void_p, expression: str) -> None:  # noqa: N802
        """Force a template instantiation."""
        self._call("nvrtcAddNameExpression", program, encoded(expression))

    def compileProgram(self, program: ctypes.c_void_p, options: Sequence[str]) -> None:  # noqa: N802
        """Compile; if it fails, the log says why."""
        words = [encoded(option) for option in options]
        array = (ctypes.c_char_p * len(words))(*words)
        self._call("nvrtcCompileProgram", program, len(words), array)

    def getPTX(self, program: ctypes.c_void_p) -> bytes:  # noqa: N802
        """PTX text with its terminator."""
        return self._bytes("nvrtcGetPTX", program)

    def getCUBIN(self, program: ctypes.c_void_p) -> bytes:  # noqa: N802
        """The complete ELF file."""
        return self._bytes("nvrtcGetCUBIN", program)

    def getProgramLog(self, program: ctypes.c_void_p) -> str:  # noqa: N802
        """Messages, and the ptxas report."""
        return self._bytes("nvrtcGetProgramLog", program).rstrip(b"\0").decode("utf-8", "replace")

    def destroyProgram(self, program: ctypes.c_void_p) -> None:  # noqa: N802
        """Release a program."""
        self._call("nvrtcDestroyProgram", ctypes.byref(program))

    def _bytes(self, function: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"{function}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(function, program, buffer)
        return buffer.raw

    def _call(self, function: str, *arguments: object) -> None:
        result = getattr(self._library, function)(*arguments)
        if result != 0:
            text = self._library.nvrtcGetErrorString(result).decode()
            raise NVRTCError(f"{function}: {text} ({result})")


@functools.cache
def load(path: str) -> NvrtcLibrary:
    """The library at a path, loaded once.

    Raises:
        ToolMissingError: as `NvrtcLibrary`.
    """
    return NvrtcLibrary(path)
