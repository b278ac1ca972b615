"""The worker process's side of `lmemscope.running.pool`; imports as little as it can.

Protocol: 8 bytes of length, little endian, then a pickle; ``(function, arguments)`` one way,
``(True, result)`` or ``(False, exception)`` the other. Nothing else uses these pipes: the worker
points file descriptor 1 at its standard error, because libraries print.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from typing import IO

from lmemscope.errors import InternalError
from lmemscope.tools import lifeline

LENGTH = 8


def send(stream: IO[bytes], value: object) -> None:
    """Write one message."""
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(body).to_bytes(LENGTH, "little") + body)
    stream.flush()


def serve(preload: str | None, lifeline_end: int | None = None) -> None:
    """The worker's main loop: answer tasks from standard input until it closes.

    Args:
        preload: a module to import first.
        lifeline_end: the descriptor by which the kernel ends this group with the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if lifeline_end is not None:
        lifeline.inherited = (lifeline_end,)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if preload is not None:
        import importlib

        importlib.import_module(preload)
    # What a task makes lives to its end, and looking through it for garbage again and again costs a
    # tenth of the time. It is looked for between tasks, in what the last one left.
    gc.disable()
    gc.freeze()
    tasks = sys.stdin.buffer
    while header := tasks.read(LENGTH):
        fn, args = pickle.loads(tasks.read(int.from_bytes(header, "little")))
        try:
            answer = (True, fn(*args))
        except Exception as error:  # noqa: BLE001 - sent home, where it is raised again
            answer = (False, error)
        except BaseException as error:  # noqa: BLE001 - there it would end the whole run
            answer = (False, InternalError.of(error))
        try:
            send(answers, answer)
        except (OSError, EOFError):
            raise  # nobody is there to tell
        except Exception as error:  # noqa: BLE001 - what cannot be pickled, or only too deep down
            send(answers, (False, InternalError.of(error)))
        del answer
        gc.collect()
        gc.freeze()
