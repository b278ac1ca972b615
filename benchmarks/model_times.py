"""Times every version of the kernels of data/model_kernels that `fix` compiles: see `model.py`.

    python benchmarks/model_times.py prepare DIRECTORY             # a toolkit, no GPU
    python benchmarks/model_times.py measure DIRECTORY             # a GPU, CuPy
    python benchmarks/model_times.py pack DIRECTORY DEVICE         # neither: writes the data

``prepare`` asks `lmemscope fix --unsafe --block` for each kernel's rewritings, adds two register
caps, and builds all of them; ``measure`` runs them in turn on arrays of random numbers and keeps
the median. data/model_kernels/launches.json has the block, the grid and the arguments of each
kernel: arrays by the type of their elements, and numbers.
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

KERNELS = ROOT / "benchmarks" / "data" / "model_kernels"
LAUNCHES = KERNELS / "launches.json"
ARCH, BYTES, REPEATS, SECONDS, LONG = "sm_90", 1 << 30, 11, 0.5, 2.0
"""Bytes of an array, timings of a version at most, the time for all versions of a kernel, and the
milliseconds that launches are timed together for."""
HOW = """Every rewriting that `fix --unsafe --block` compiled, and two register caps, for sm_90; the
median of at least 3 timings, each of launches for 2 ms, the versions in turn, on arrays of random
numbers."""


def prepare(directory: Path) -> None:
    """Write the versions of all kernels, and build them."""
    from lmemscope.app.worker import lower_unit
    from lmemscope.model import CompileOptions, Unit

    made = []
    for file, kernels in sorted(json.loads(LAUNCHES.read_text()).items()):
        for kernel, launch in kernels.items():
            row = {"file": file, "kernel": kernel, "launch": launch, "versions": []}
            for number, version in enumerate(versions(file, kernel, launch["block"])):
                text = version.pop("text")
                path = directory / f"{kernel}.{number}.cu"
                path.write_text(text)
                options = CompileOptions(maxrregcount=version.get("cap"))
                unit = Unit(str(path), str(path), "auto", ARCH, options)
                path.with_suffix(".cubin").write_bytes(lower_unit(unit).cubin)
                row["versions"].append(version | {"cubin": path.with_suffix(".cubin").name})
            made.append(row)
    (directory / "versions.json").write_text(json.dumps(made, indent=1))


def versions(file: str, kernel: str, block: int) -> list[dict[str, Any]]:
    """The original, what `fix` compiled of it, all of its first choices together, and caps."""
    from fix_times import apply_patch

    text = (KERNELS / file).read_text()
    words = ["fix", str(KERNELS / file), "--unsafe", "--block", str(block), "--format", "json"]
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


def measure(directory: Path) -> None:
    """Time what was built. A kernel that fails ends the program: run it again for the rest."""
    import cupy

    path = directory / "times.json"
    times: dict[str, list[float | None]] = json.loads(path.read_text()) if path.exists() else {}
    arrays = _Arrays(cupy)
    for row in json.loads((directory / "versions.json").read_text()):
        name = f"{row['file']}:{row['kernel']}"
        if name in times:
            continue
        times[name] = [None] * len(row["versions"])
        path.write_text(json.dumps(times))
        launch = row["launch"]
        arguments = arrays.arguments(launch["args"])
        functions = [
            cupy.RawModule(path=str(directory / one["cubin"])).get_function(row["kernel"])
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
    """Write data/model_times.json.gz."""
    times = json.loads((directory / "times.json").read_text())
    rows = json.loads((directory / "versions.json").read_text())
    for row in rows:
        own = times[f"{row['file']}:{row['kernel']}"]
        for version, taken in zip(row["versions"], own, strict=True):
            version["ms"] = taken
            del version["cubin"]
        row["versions"] = [one for one in row["versions"] if one["ms"]]
    document = {"device": device, "how": " ".join(HOW.split()), "kernels": rows}
    with gzip.GzipFile(KERNELS.parent / "model_times.json.gz", "wb", 9, mtime=0) as stream:
        stream.write(json.dumps(document, indent=0).encode())


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    if sys.argv[1] == "prepare":
        prepare(folder)
    elif sys.argv[1] == "measure":
        measure(folder)
    else:
        pack(folder, sys.argv[3])
