"""What Nsight Compute does, as far as lmemscope can tell, without a GPU.

Runs the program that it is given, writes the options beside the profile, and prints recorded pages
when it is asked for them. NCU_RECORDING is the beginning of the recorded files' names; NCU_ERROR an
error to report in place of a profile.
"""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

TAKES_NO_VALUE = {"-f", "--csv"}


def main(words: list[str]) -> int:
    if words == ["--version"]:
        print("NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 1)")
        return 0
    options: dict[str, str] = {}
    while words and words[0].startswith("-"):
        name = words.pop(0)
        options[name] = "" if name in TAKES_NO_VALUE else words.pop(0)
    if "--import" in options:
        return show(options)
    return profile(options, words)


def show(options: dict[str, str]) -> int:
    recording = Path(options["--import"]).read_text().strip()
    page = "sass" if options["--page"] == "source" else "raw"
    with gzip.open(f"{recording}.{page}.csv.gz", "rt") as stream:
        sys.stdout.write(stream.read())
    return 0


def profile(options: dict[str, str], command: list[str]) -> int:
    log = Path(options["--log-file"])
    error = os.environ.get("NCU_ERROR")
    if error:
        log.write_text(f"==ERROR== {error}\n")
        return 1
    program = subprocess.Popen(command)
    signal.signal(signal.SIGTERM, lambda *_: program.terminate())
    status = program.wait()
    lines = [f"==PROF== Connected to process {program.pid}"]
    if status:
        lines.append(f"==ERROR== The application returned an error code ({status}).")
    recording = os.environ.get("NCU_RECORDING")
    if recording:
        Path(options["-o"]).write_text(recording)
        lines.append(f"==PROF== Report: {options['-o']}")
    else:
        lines.append("==WARNING== No kernels were profiled.")
    log.write_text("\n".join(lines) + "\n")
    asked = os.environ.get("NCU_OPTIONS")
    if asked:
        Path(asked).write_text("\n".join(f"{name} {value}" for name, value in options.items()))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
