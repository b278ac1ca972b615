"""Time of kernels in local memory, with each fix that is offered, and rewritten by hand.

    python benchmarks/fix_times.py --out benchmarks/data/fix_times.json [--only KERNEL]

Needs a GPU, CuPy, and what `lmemscope doctor` asks for. Where the machine with the GPU lacks a
toolchain, another one finds the fixes first: `--prepare FILE` there, `--fixes FILE` here. What
`lmemscope fix --format json` writes does for `--fixes` too, without models of what is by hand.

Each kernel of data/fix_kernels is compiled by NVRTC as it is, with each patch, and as hand/ has it.
All versions of a kernel are timed in turn, again and again, so that a clock that changes changes
them all. What they compute is compared byte by byte.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "benchmarks" / "data" / "fix_kernels"
REPEATS, WARM_UPS, SECONDS = 20, 3, 240.0
"""Timings of each version, runs before the first, and the time after which no kernel is begun."""
NOTICED, NEAR = 1.03, 1.10
"""Slower than the original, and near the fastest, as the ranking is judged."""


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched, and its arrays: rows of one element for each thread."""

    kernel: str
    source_type: str
    result_type: str
    n: int
    rows: int
    result_rows: int
    block: int
    blocks: int


@dataclass
class Version:
    """One version of a kernel, with what the model says of it and what was measured.

    Attributes:
        kind: ``original``, ``fix``, ``patch`` (of the best fixes of several objects, as ``--unsafe
            --apply`` writes it), ``hand``, or ``redesigned`` by hand.
        modelled, measured: speed-up over the original.
        same: whether all bytes of the result are the original's.
        difference: the largest one, relative to the largest value of the original.
        same_unfused: of one that is not the same: whether it is, where neither is allowed to fuse
            products and sums (``-fmad=false``).
    """

    name: str
    kind: str
    source: str = field(repr=False)
    applicability: str | None = None
    rank: int | None = None
    modelled: float | None = None
    times_ms: list[float] = field(default_factory=list)
    measured: float | None = None
    same: bool | None = None
    difference: float | None = None
    same_unfused: bool | None = None
    error: str | None = None


class Loaded(Protocol):
    """A compiled version."""

    def time(self) -> float:
        """Milliseconds of one launch."""

    def result(self) -> tuple[bytes, Sequence[float]]:
        """What a launch leaves in the result: its bytes, and some of its numbers."""


class Gpu(Protocol):
    """What compiles and times."""

    name: str

    def load(self, source: str, launch: Launch, *, fused: bool = True) -> Loaded:
        """Compile a version; raises whatever the compiler does."""


def launches(only: str | None = None) -> dict[str, Launch]:
    """The kernels, by name, or one of them; each is in a file of its own."""
    table = json.loads((KERNELS / "kernels.json").read_text())["kernels"]
    if only is not None:
        table = {only: table[only]}
    return {
        name: Launch(
            name,
            row["in"],
            row["out"],
            row["n"],
            row["rows"],
            row["out_rows"],
            row["block"],
            row["blocks"],
        )
        for name, row in sorted(table.items())
    }


def by_hand() -> dict[str, list[Path]]:
    """Versions that were rewritten by hand, by kernel."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted((KERNELS / "hand").glob("*.cu")):
        found[path.name.partition(".")[0]].append(path)
    return found


def redesigned() -> frozenset[str]:
    """Those of them that are other programs, as far as their kernel goes."""
    return frozenset(json.loads((KERNELS / "kernels.json").read_text())["redesigned"])


def apply_patch(text: str, patch: str) -> str:
    """A file with a unified diff applied.

    Raises:
        ValueError: it does not fit.
    """
    lines, made, at = text.splitlines(keepends=True), [], 0
    for line in patch.splitlines(keepends=True):
        if line.startswith(("---", "+++", "\\")):
            continue
        if line.startswith("@@"):
            begin = int(line.split()[1].lstrip("-").partition(",")[0])
            begin -= "," not in line.split()[1] or not line.split()[1].endswith(",0")
            made += lines[at:begin]
            at = begin
        elif line.startswith("+"):
            made.append(line[1:])
        elif line[:1] in (" ", "-"):
            if at >= len(lines) or lines[at] != line[1:]:
                raise ValueError(f"the patch does not fit at line {at + 1}")
            if line.startswith(" "):
                made.append(lines[at])
            at += 1
    return "".join([*made, *lines[at:]])


def find_fixes(arch: str, only: str | None = None) -> dict[str, Any]:
    """What `lmemscope fix` offers for the kernels, and the modelled costs of what is by hand."""
    sys.path.insert(0, str(ROOT))
    from lmemscope.analysis.cost import Grid, cost_of
    from lmemscope.app.session import Session
    from lmemscope.app.worker import analyse_unit
    from lmemscope.config.settings import from_flags
    from lmemscope.fixing.patch import diff
    from lmemscope.fixing.run import Asked, fix
    from lmemscope.fixing.trials import counts_of
    from lmemscope.model import Unit, Wanted
    from lmemscope.running.pool import WorkerPool

    settings = from_flags({"cache": False, "arch": (arch,)}).settings
    made: dict[str, Any] = {"arch": arch, "candidates": [], "patches": [], "hand": []}
    blocks: dict[int, list[str]] = defaultdict(list)
    for name, launch in launches(only).items():
        blocks[launch.block].append(str(KERNELS / f"{name}.cu"))

    def cost(path: Path, block: int, original: Path) -> float | None:
        """Of a version, whose parameters are what the original's arrays allow them to be."""
        unit = Unit(str(original), str(original), "auto", arch)
        report = analyse_unit(unit, Wanted(names=False, work=True))
        if path != original:
            wanted = Wanted(names=False, work=True, counts=counts_of(report))
            report = analyse_unit(Unit(str(path), str(path), "auto", arch), wanted)
        found = cost_of(report.kernels[0], arch, Grid(block))
        return found.total if found is not None else None

    with WorkerPool(min(os.cpu_count() or 1, 8), timeout=120) as pool:
        for block, paths in blocks.items():
            _, outcome = fix(paths, Session(settings, pool), Asked(block=block, unsafe=True))
            made["candidates"] += [
                {
                    "input": trial.input,
                    "kernel": trial.kernel.partition("(")[0],
                    "object": trial.object,
                    "rewrite": trial.rewriting.rewrite,
                    "applicability": trial.rewriting.applicability,
                    "verdict": trial.verdict,
                    "rank": trial.rank,
                    "cost_before": trial.cost_before,
                    "cost_after": trial.cost_after,
                    "patch": trial.patch,
                }
                for trial in outcome.trials
            ]
            for path in paths:
                own = [one for one in outcome.chosen.edits if one.file == path]
                taken = [one for one in outcome.chosen.rewritings if one.edits[0].file == path]
                if len(taken) > 1:
                    kernel = Path(path).stem
                    patch = diff(own, str(KERNELS))
                    text = apply_patch(Path(path).read_text(), patch)
                    with tempfile.TemporaryDirectory() as directory:
                        patched = Path(directory) / f"{kernel}.cu"
                        patched.write_text(text)
                        own_cost = cost(Path(path), block, Path(path))
                        costs = own_cost, cost(patched, block, Path(path))
                    made["patches"].append(
                        {
                            "kernel": kernel,
                            "applicability": max(one.applicability for one in taken),
                            "cost_before": costs[0],
                            "cost_after": costs[1],
                            "patch": patch,
                        }
                    )

    for name, paths_by_hand in by_hand().items():
        if name in launches(only):
            block = launches(only)[name].block
            original = KERNELS / f"{name}.cu"
            before = cost(original, block, original)
            made["hand"] += [
                {
                    "file": path.name,
                    "cost_before": before,
                    "cost_after": cost(path, block, original),
                }
                for path in paths_by_hand
            ]
    return made


def versions_of(launch: Launch, fixes: dict[str, Any]) -> list[Version]:
    """The versions of a kernel, the original first."""
    text = (KERNELS / f"{launch.kernel}.cu").read_text()
    found = [Version("original", "original", text, modelled=1.0)]
    for one in fixes["candidates"]:
        is_offered = one["verdict"] in ("removed", "reduced") and one["patch"]
        if one["kernel"].partition("(")[0] != launch.kernel or not is_offered:
            continue
        name = f"{one['rewrite']} of {one['object']}" if one["object"] else one["rewrite"]
        version = Version(
            name,
            "fix",
            "",
            one["applicability"],
            one["rank"],
            ratio(one["cost_before"], one["cost_after"]),
        )
        try:
            version.source = apply_patch(text, one["patch"])
        except ValueError as error:
            version.error = str(error)
        found.append(version)
    for one in fixes.get("patches", ()):
        if one["kernel"] == launch.kernel:
            modelled = ratio(one["cost_before"], one["cost_after"])
            source = apply_patch(text, one["patch"])
            safe = one["applicability"]
            found.append(Version("all together", "patch", source, safe, 1, modelled))
    costs = {one["file"]: one for one in fixes.get("hand", ())}
    for path in by_hand().get(launch.kernel, ()):
        known = costs.get(path.name, {})
        modelled = ratio(known.get("cost_before"), known.get("cost_after"))
        name = path.name.removesuffix(".cu").partition(".")[2]
        kind = "redesigned" if path.name.removesuffix(".cu") in redesigned() else "hand"
        found.append(Version(name, kind, path.read_text(), modelled=modelled))
    return found


def ratio(before: float | None, after: float | None) -> float | None:
    """A speed-up; None where a time is not known."""
    return before / after if before and after else None


def measure(gpu: Gpu, launch: Launch, versions: Iterable[Version], repeats: int) -> None:
    """Time the versions of a kernel in turn, and compare what they compute."""
    loaded: list[tuple[Version, Loaded]] = []
    expected: tuple[bytes, Sequence[float]] | None = None
    unfused: tuple[bytes, Sequence[float]] | None = None
    for version in versions:
        if version.error is not None:
            continue
        try:
            one = gpu.load(version.source, launch)
            result = one.result()
        except Exception as error:  # noqa: BLE001 - a version that fails is a result too
            version.error = str(error).strip().splitlines()[0] if str(error) else repr(error)
            continue
        if expected is None:
            expected = result
            unfused = gpu.load(version.source, launch, fused=False).result()
        version.same = result[0] == expected[0]
        if not version.same and unfused is not None:
            other = gpu.load(version.source, launch, fused=False).result()
            version.same_unfused = other[0] == unfused[0]
        largest = max((abs(one) for one in expected[1]), default=0.0) or 1.0
        pairs = zip(result[1], expected[1], strict=True)
        version.difference = max((abs(a - b) for a, b in pairs), default=0.0) / largest
        loaded.append((version, one))
    for round_ in range(WARM_UPS + repeats):
        for version, one in loaded:
            taken = one.time()
            if round_ >= WARM_UPS:
                version.times_ms.append(taken)
    medians = [(version, statistics.median(version.times_ms)) for version, _ in loaded]
    original = next((taken for version, taken in medians if version.kind == "original"), None)
    for version, taken in medians:
        version.measured = ratio(original, taken)


def ranks(values: Sequence[float]) -> list[float]:
    """Places from 1; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(one) + (ordered.count(one) + 1) / 2 for one in values]


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None where there is none to speak of."""
    if len(first) < 3 or len(set(first)) == 1 or len(set(second)) == 1:
        return None
    return statistics.correlation(ranks(first), ranks(second))


def summary(kernels: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How good the ranking is, over all kernels."""
    tried = [one for kernel in kernels for one in kernel["versions"] if one["kind"] != "original"]
    known = [one for one in tried if one["modelled"] and one["measured"]]
    fixes = [one for one in known if one["kind"] in ("fix", "patch")]
    chosen = [first_ranked(kernel["versions"]) for kernel in kernels]

    def near(*kinds: str) -> int:
        """How many of the first-ranked are near the fastest of some kinds of versions."""
        fastest = [
            max(one["measured"] or 0.0 for one in kernel["versions"] if one["kind"] in kinds)
            for kernel in kernels
        ]
        return sum(a * NEAR >= b for a, b in zip(chosen, fastest, strict=True))

    fixed = ("original", "fix", "patch")
    return {
        "kernels": len(kernels),
        "versions": len(known),
        "first_near_fastest_fix": near(*fixed),
        "first_near_fastest_by_hand": near(*fixed, "hand"),
        "first_near_fastest_redesigned": near(*fixed, "hand", "redesigned"),
        "first_slower_than_original": sum(one * NOTICED < 1 for one in chosen),
        "spearman": correlation(known),
        "spearman_of_fixes": correlation(fixes),
        "different_bytes": [
            f"{kernel['kernel']}: {one['name']}"
            for kernel in kernels
            for one in kernel["versions"]
            if one["same"] is False
        ],
        "different_unfused": [
            f"{kernel['kernel']}: {one['name']}"
            for kernel in kernels
            for one in kernel["versions"]
            if one["same_unfused"] is False
        ],
        "failed": [
            f"{kernel['kernel']}: {one['name']}: {one['error']}"
            for kernel in kernels
            for one in kernel["versions"]
            if one["error"]
        ],
    }


def first_ranked(versions: Sequence[dict[str, Any]]) -> float:
    """The measured speed-up of what is to be taken: one patch of the best fixes where a kernel has
    several objects, else the first fix, else the kernel as it is."""
    ranked = [one for one in versions if one["rank"] == 1 and one["measured"]]
    whole = [one for one in ranked if one["kind"] == "patch"]
    best = max(whole or ranked, key=lambda one: one["modelled"] or 0.0, default=None)
    return float(best["measured"]) if best else 1.0


def correlation(versions: Sequence[dict[str, Any]]) -> float | None:
    """Of modelled and measured speed-ups."""
    return spearman([one["modelled"] for one in versions], [one["measured"] for one in versions])


def run(
    gpu: Gpu,
    fixes: dict[str, Any],
    repeats: int = REPEATS,
    say: Callable[[str], None] = lambda line: None,
    only: str | None = None,
) -> dict[str, Any]:
    """Measure all kernels, or one; the document that is written."""
    began, kernels, left = time.monotonic(), [], []
    for name, launch in launches(only).items():
        if time.monotonic() - began > SECONDS:
            left.append(name)
            continue
        versions = versions_of(launch, fixes)
        measure(gpu, launch, versions, repeats)
        rows = [{k: v for k, v in asdict(one).items() if k != "source"} for one in versions]
        kernels.append({"kernel": name, "launch": asdict(launch), "versions": rows})
        for one in versions:
            measured = "failed" if one.measured is None else f"{one.measured:.2f}"
            modelled = "?" if one.modelled is None else f"{one.modelled:.2f}"
            say(f"{name:16} {one.name:32} modelled {modelled:>6} measured {measured:>6}")
    return {
        "device": gpu.name,
        "arch": fixes.get("arch"),
        "repeats": repeats,
        "kernels": kernels,
        "left_out": left,
        "summary": summary(kernels),
    }


class _Cupy:
    """The GPU by CuPy."""

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        properties = cupy.cuda.runtime.getDeviceProperties(0)
        self.name = properties["name"].decode()
        self.arch = f"sm_{properties['major']}{properties['minor']}"
        self._arrays: dict[Launch, Any] = {}

    def load(self, source: str, launch: Launch, *, fused: bool = True) -> Loaded:
        cupy = self._cupy
        if launch not in self._arrays:
            self._arrays.clear()
            threads = launch.block * launch.blocks
            generator = cupy.random.RandomState(7)
            shape = launch.rows * threads
            if launch.source_type == "int32":
                given = generator.randint(0, 1 << 20, shape).astype(cupy.int32)
            else:
                given = generator.random_sample(shape).astype(launch.source_type)
            made = cupy.zeros(launch.result_rows * threads, dtype=launch.result_type)
            self._arrays[launch] = (given, made)
        options = ("--std=c++17",) if fused else ("--std=c++17", "-fmad=false")
        module = cupy.RawModule(code=source, backend="nvrtc", options=options)
        return _CupyLoaded(cupy, module.get_function(launch.kernel), launch, self._arrays[launch])


class _CupyLoaded:
    def __init__(self, cupy: Any, function: Any, launch: Launch, arrays: Any) -> None:
        self._cupy, self._function, self._launch, self._arrays = cupy, function, launch, arrays

    def time(self) -> float:
        # What ran before leaves the caches full of its own.
        self._start()
        begin, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        begin.record()
        self._start()
        end.record()
        end.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(begin, end))

    def result(self) -> tuple[bytes, Sequence[float]]:
        made = self._arrays[1]
        made.fill(0)
        self._start()
        self._cupy.cuda.runtime.deviceSynchronize()
        host = self._cupy.asnumpy(made)
        return host.tobytes(), host[:4096].astype("float64").tolist()

    def _start(self) -> None:
        launch = self._launch
        arguments = (*self._arrays, self._cupy.int32(launch.n))
        self._function((launch.blocks,), (launch.block,), arguments)


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="where to write what was measured")
    parser.add_argument("--prepare", type=Path, metavar="FILE", help="only find the fixes")
    parser.add_argument("--fixes", type=Path, metavar="FILE", help="fixes that were found before")
    parser.add_argument("--arch", help="with --prepare: the GPU's architecture, else sm_90")
    parser.add_argument("--only", metavar="KERNEL", help="one of the kernels")
    asked = parser.parse_args()
    if asked.prepare is not None:
        found = find_fixes(asked.arch or "sm_90", asked.only)
        asked.prepare.write_text(json.dumps(found, indent=1) + "\n")
        return
    if asked.out is None:
        parser.error("--out or --prepare is needed")
    gpu = _Cupy()
    fixes = json.loads(asked.fixes.read_text()) if asked.fixes else find_fixes(gpu.arch, asked.only)
    document = run(gpu, fixes, say=lambda line: print(line, flush=True), only=asked.only)
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document["summary"], indent=1))


if __name__ == "__main__":
    main()
