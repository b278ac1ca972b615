"""Times every version of the kernels of data/model_kernels that `fix` compiles: see `model.py`.

    python benchmarks/model_times.py prepare DIRECTORY [SET]       # a toolkit, no GPU
    python benchmarks/model_times.py build DIRECTORY [NVCC]        # nvcc and a host compiler
    python benchmarks/model_times.py measure DIRECTORY             # a GPU, CuPy
    python benchmarks/model_times.py pack DIRECTORY DEVICE         # neither: writes the data

``prepare`` asks `lmemscope fix --unsafe --block` for each kernel's rewritings and adds two register
caps; ``measure`` runs all of them in turn and keeps the median. data/model_kernels/launches.json
has the block, the grid and the arguments of each kernel: arrays by the type of their elements, and
numbers. ``prepare`` compiles such a kernel, and ``measure`` runs it on arrays of random numbers.

A kernel without arguments there is a program: it launches itself and prints a hash of its result
and its time. ``build`` builds all of its versions, and ``measure`` compares their hashes.
"""

from __future__ import annotations

import ctypes
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

KERNELS = ROOT / "benchmarks" / "data" / "model_kernels"
LAUNCHES = KERNELS / "launches.json"
ARCH, BYTES, REPEATS, SECONDS, LONG = "sm_90", 1 << 30, 11, 0.5, 2.0
"""Bytes of an array, timings of a version at most, the time for all versions of a kernel, and the
milliseconds that launches are timed together for."""
ROUNDS, PROGRAM_SECONDS = 3, 60
"""Runs of each version of a program, and the time for those of all versions."""
HOW = """Every rewriting that `fix --unsafe --block` compiled, and two register caps, built for
sm_90 by CUDA 13.5; the median of at least 3 timings, the versions in turn, of launches for 2 ms
(the calibration's: of launches), on arrays of random numbers. The versions of the later kernels
were compiled with CUDA 13.0, as were those of the fresh ones: programs, which make their inputs
themselves, and whose results are compared by a hash."""


def prepare(directory: Path, only: str = "") -> None:
    """Write the versions of all kernels, or of those in one folder; compile those that are no
    programs."""
    from lmemscope.app.worker import lower_unit
    from lmemscope.model import CompileOptions, Unit

    asked = [
        (file, kernel, launch)
        for file, kernels in sorted(json.loads(LAUNCHES.read_text()).items())
        for kernel, launch in kernels.items()
        if file.startswith(only)
    ]
    made = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda one: versions(one[0], one[1], one[2]["block"]), asked)
        for (file, kernel, launch), tried in zip(asked, found, strict=True):
            row = {"file": file, "kernel": kernel, "launch": launch, "versions": []}
            for number, version in enumerate(tried):
                text = version.pop("text")
                path = directory / f"{kernel}.{number}.cu"
                path.write_text(text)
                if "args" in launch:
                    options = CompileOptions(maxrregcount=version.get("cap"))
                    unit = Unit(str(path), str(path), "auto", ARCH, options)
                    path.with_suffix(".cubin").write_bytes(lower_unit(unit).cubin)
                row["versions"].append(version | {"built": path.stem})
            made.append(row)
    (directory / "versions.json").write_text(json.dumps(made, indent=1))


def versions(file: str, kernel: str, block: int) -> list[dict[str, Any]]:
    """The original, what `fix` compiled of it, all of its first choices together, and caps."""
    from fix_times import apply_patch

    text = (KERNELS / file).read_text()
    path = str(KERNELS / file)
    words = ["fix", path, "--unsafe", "--block", str(block), "--format", "json", "-j", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "lmemscope", *words, "--arch", ARCH],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    by_text: dict[str, dict[str, Any]] = {text: {"name": "original", "kind": "original"}}
    registers = 0
    for one in found["candidates"]:
        if one["kernel"].partition("(")[0] != kernel:
            continue
        registers = one["before"]["registers"] or 0
        if not one["patch"] or one["verdict"] == "failed":
            continue
        row = {name: one[name] for name in ("object", "rewrite", "applicability", "verdict")}
        row["finding"] = one["fingerprint"]
        name = f"{one['rewrite']} of {one['object']}"
        changed = {"name": name, "kind": "fix", "patch": one["patch"], "candidates": []}
        version = by_text.setdefault(apply_patch(text, one["patch"]), changed)
        version.get("candidates", []).append(row)
    if found["patch"]:
        together = {"name": "together", "kind": "together", "patch": found["patch"]}
        by_text.setdefault(apply_patch(text, found["patch"]), together)
    caps = sorted({max(24, registers * part // 4 // 8 * 8) for part in (2, 3)}, reverse=True)
    return [
        *({"text": text_, **version} for text_, version in by_text.items()),
        *(
            {"text": text, "name": f"cap {cap}", "kind": "cap", "cap": cap}
            for cap in caps
            if cap < registers
        ),
    ]


def build(directory: Path, nvcc: str = "nvcc") -> None:
    """Build the versions of programs, each as a shared library."""
    rows = json.loads((directory / "versions.json").read_text())
    versions_ = [one for row in rows if "args" not in row["launch"] for one in row["versions"]]

    def library(version: dict[str, Any]) -> None:
        cap = [f"-maxrregcount={version['cap']}"] if "cap" in version else []
        words = [nvcc, f"-arch={ARCH}", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", *cap]
        name = str(directory / version["built"])
        subprocess.run([*words, f"{name}.cu", "-o", f"{name}.so"], check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(library, versions_))


def measure_programs(directory: Path) -> None:
    """Run all versions of each program in turn, in a process of the program's own."""
    path = directory / "outcomes.json"
    outcomes: dict[str, list[Any]] = json.loads(path.read_text()) if path.exists() else {}
    for row in json.loads((directory / "versions.json").read_text()):
        name = f"{row['file']}:{row['kernel']}"
        if "args" in row["launch"] or name in outcomes:
            continue
        built = [str(directory / f"{one['built']}.so") for one in row["versions"]]
        rounds: list[list[Any]] = [[] for _ in built]
        working = [number for number, one in enumerate(built) if os.path.exists(one)]
        while working:
            words = [sys.executable, __file__, "run", *(built[number] for number in working)]
            found = [json.loads(line) for line in _output(words).splitlines()]
            for number, one in zip(working * ROUNDS, found, strict=False):
                rounds[number].append(one)
            if len(found) == len(working) * ROUNDS:
                break
            # The one that fails takes the GPU's context with it: the others run anew without it.
            failed = working[len(found) % len(working)]
            rounds = [[] for _ in built]
            working.remove(failed)
        outcomes[name] = rounds
        path.write_text(json.dumps(outcomes))


def _output(words: list[str]) -> str:
    """What a program prints until it ends, or fails, or has run for too long."""
    try:
        done = subprocess.run(words, capture_output=True, timeout=PROGRAM_SECONDS)
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode()
    return done.stdout.decode()


def run_programs(libraries: list[str]) -> None:
    """Print the hash and the milliseconds of each program, a line for each run."""
    loaded = [ctypes.CDLL(one) for one in libraries]
    flush = ctypes.CDLL(None).fflush
    for _ in range(ROUNDS):
        for one in loaded:
            with tempfile.TemporaryFile() as stream:
                output = os.dup(1)
                os.dup2(stream.fileno(), 1)
                one.main()
                flush(None)
                os.dup2(output, 1)
                os.close(output)
                stream.seek(0)
                digest, taken, error = stream.read().decode().split(maxsplit=2)
            if error.strip() != "no error":
                raise RuntimeError(error)
            print(json.dumps([digest, float(taken)]), flush=True)


def measure(directory: Path) -> None:
    """Time what was built. A kernel that fails ends the program: run it again for the rest."""
    rows = json.loads((directory / "versions.json").read_text())
    measure_programs(directory)
    if any("args" in row["launch"] for row in rows):
        measure_kernels(directory, [row for row in rows if "args" in row["launch"]])


def measure_kernels(directory: Path, rows: list[dict[str, Any]]) -> None:
    """Time the kernels that are no programs."""
    import cupy

    path = directory / "times.json"
    times: dict[str, list[float | None]] = json.loads(path.read_text()) if path.exists() else {}
    arrays = _Arrays(cupy)
    for row in rows:
        name = f"{row['file']}:{row['kernel']}"
        if name in times:
            continue
        times[name] = [None] * len(row["versions"])
        path.write_text(json.dumps(times))
        launch = row["launch"]
        arguments = arrays.arguments(launch["args"])
        functions = [
            cupy.RawModule(path=str(directory / f"{one['built']}.cubin")).get_function(
                row["kernel"]
            )
            for one in row["versions"]
        ]

        def run(
            function: Any, often: int = 1, launch: Any = launch, arguments: Any = arguments
        ) -> float:
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            for _ in range(often):
                function((launch["grid"],), (launch["block"],), arguments)
            end.record()
            end.synchronize()
            return float(cupy.cuda.get_elapsed_time(begin, end)) / often

        first = [max(run(one), run(one)) for one in functions]
        # Of one short launch, what it takes to begin is a part that differs each time.
        often = [max(1, round(LONG / taken)) for taken in first]
        sample = sum(taken * number for taken, number in zip(first, often, strict=True))
        repeats = int(max(3, min(REPEATS, 1000 * SECONDS / sample)))
        rounds = [
            [run(one, number) for one, number in zip(functions, often, strict=True)]
            for _ in range(repeats)
        ]
        times[name] = [statistics.median(own) for own in zip(*rounds, strict=True)]
        path.write_text(json.dumps(times))


class _Arrays:
    """Arrays that kernels read, of random numbers, one for each type of element."""

    def __init__(self, cupy: Any) -> None:
        self._cupy, self._random = cupy, cupy.random.RandomState(7)
        self._read: dict[str, Any] = {}
        self._written = [cupy.zeros(BYTES, dtype=cupy.uint8) for _ in range(4)]

    def arguments(self, described: list[list[Any]]) -> tuple[Any, ...]:
        """Arguments of a launch: ``["p", type, is read]``, ``["s", structure]``, ``["v", type,
        number]``."""
        import numpy

        found: list[Any] = []
        read = written = 0
        for kind, type_, value in described:
            if kind == "p" and value:
                found.append(self._array(type_)[read * 4096 * 13 :])
                read += 1
            elif kind == "p":
                found.append(self._written[written])
                written += 1
            elif kind == "s":
                found.append(_structure(numpy, type_))
            else:
                found.append({"i32": numpy.int32, "f32": numpy.float32}[type_](value))
        return tuple(found)

    def _array(self, type_: str) -> Any:
        name = type_ if type_ in ("f16", "f32", "f64", "i32") else "u8"
        if name not in self._read:
            cupy, random = self._cupy, self._random
            if name == "i32":
                self._read[name] = random.randint(0, 1 << 20, BYTES // 4, dtype=cupy.int32)
            elif name == "u8":
                self._read[name] = random.randint(0, 256, BYTES, dtype=cupy.uint8)
            else:
                size = {"f16": 4, "f32": 4, "f64": 8}[name]
                made = random.random_sample(BYTES // size).astype(f"float{name[1:]}")
                self._read[name] = made
        return self._read[name]


def _structure(numpy: Any, described: str) -> Any:
    """A structure by value, such as ``f24,i12``: 24 floats, then the number 12."""
    data = b"".join(
        numpy.linspace(0.05, 0.95, int(part[1:])).astype("float32").tobytes()
        if part[0] == "f"
        else numpy.int32(part[1:]).tobytes()
        for part in described.split(",")
    )
    return numpy.frombuffer(data, dtype=numpy.dtype((numpy.void, len(data))))[0]


def pack(directory: Path, device: str) -> None:
    """Write data/model_times.json.gz: in place of what it has of these kernels."""
    path = KERNELS.parent / "model_times.json.gz"
    times, outcomes = (
        json.loads(file.read_text()) if (file := directory / name).exists() else {}
        for name in ("times.json", "outcomes.json")
    )
    rows = json.loads((directory / "versions.json").read_text())
    for row in rows:
        name = f"{row['file']}:{row['kernel']}"
        first = next(iter(outcomes.get(name, [[]])[0]), [None])[0]
        for number, version in enumerate(row["versions"]):
            if name in outcomes:
                runs = outcomes[name][number]
                version["ms"] = statistics.median(taken for _, taken in runs) if runs else None
                version["same"] = all(digest == first for digest, _ in runs)
            else:
                version["ms"] = times[name][number]
            del version["built"]
        row["versions"] = [one for one in row["versions"] if one["ms"]]
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        document = json.load(stream)
    made = {row["file"] for row in rows}
    kept = [row for row in document["kernels"] if row["file"] not in made]
    document |= {"device": device, "how": " ".join(HOW.split()), "kernels": kept + rows}
    with gzip.GzipFile(path, "wb", 9, mtime=0) as stream:
        stream.write(json.dumps(document, indent=0).encode())


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "run":
        run_programs(rest)
    else:
        folder = Path(rest[0])
        os.makedirs(folder, exist_ok=True)
        commands = {"prepare": prepare, "build": build, "measure": measure, "pack": pack}
        commands[command](folder, *rest[1:])
