"""Numba kernels in local memory and with each offered fix, on a GPU: outputs compared, times taken.

    python benchmarks/numba_times.py --prepare fixes.json
    python benchmarks/numba_times.py --fixes fixes.json --out FILE

The first command needs lmemscope and no GPU, the second Numba and a GPU, and not lmemscope.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KERNELS = Path(__file__).parent / "data" / "numba_kernels"
SEED = 20
WARM_UPS, REPEATS = 3, 20


def find_fixes(arch: str) -> dict[str, Any]:
    """The patches that `lmemscope fix` offers for each kernel, and their modelled speed-ups."""
    found: dict[str, Any] = {}
    for path in sorted(KERNELS.glob("*.py")):
        command = ["fix", path.name, "--run-python", "--unsafe", "--arch", arch]
        done = subprocess.run(
            [sys.executable, "-m", "lmemscope", *command, "--timeout", "600", "--format", "json"],
            cwd=KERNELS,
            capture_output=True,
            text=True,
            check=False,
        )
        if not done.stdout:
            raise SystemExit(f"{path.name}: {done.stderr}")
        found[path.stem] = [
            {name: one[name] for name in ("rewrite", "applicability", "verdict", "rank", "patch")}
            | {"modelled": ratio(one["cost_before"], one["cost_after"])}
            for one in json.loads(done.stdout)["candidates"]
            if one["verdict"] in ("removed", "reduced")
        ]
    return found


def ratio(before: float | None, after: float | None) -> float | None:
    """A speed-up; None where a time is not known."""
    return before / after if before and after else None


def patched(text: str, patch: str, directory: Path) -> str:
    """A file's text with a patch of it."""
    (directory / "k.py").write_text(text)
    # The patch names the file by its path in the repository.
    lines = [
        f"{line[:4]}k.py\n" if line.startswith(("--- ", "+++ ")) else line
        for line in patch.splitlines(keepends=True)
    ]
    (directory / "k.patch").write_text("".join(lines))
    subprocess.run(["patch", "-s", "-p0", "k.py", "k.patch"], cwd=directory, check=True)
    return (directory / "k.py").read_text()


def module_of(text: str, name: str, directory: Path) -> Any:
    """A module with some text."""
    path = directory / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def measure(kernel: str, fixes: list[dict[str, Any]]) -> dict[str, Any]:
    """One kernel's versions, timed in turn."""
    import numpy as np
    from numba import cuda

    text = (KERNELS / f"{kernel}.py").read_text()
    versions: list[dict[str, Any]] = [{"rewrite": "original", "modelled": 1.0}]
    versions += [{name: one[name] for name in one if name != "patch"} for one in fixes]
    modules = []
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        for number, one in enumerate([{"patch": None}, *fixes]):
            source = text if one["patch"] is None else patched(text, one["patch"], directory)
            modules.append(module_of(source, f"{kernel}_{number}", directory))
        first: Any = None
        given = modules[0].arrays(np.random.default_rng(SEED))
        on_device = [cuda.to_device(one) for one in given]
        for version, module in zip(versions, modules, strict=True):
            on_device[-1].copy_to_device(np.zeros_like(given[-1]))
            module.launch(*on_device)
            result = on_device[-1].copy_to_host()
            version["digest"] = hashlib.sha256(result.tobytes()).hexdigest()
            version["is_zero"] = not result.any()
            first = result if version is versions[0] else first
            scale = float(np.abs(first).max()) or 1.0
            error = np.abs(result.astype(np.float64) - first).max()
            version["difference"] = float(error) / scale
            version["times_ms"] = []
        begin, end = cuda.event(), cuda.event()
        for repeat in range(WARM_UPS + REPEATS):
            for version, module in zip(versions, modules, strict=True):
                begin.record()
                module.launch(*on_device)
                end.record()
                end.synchronize()
                if repeat >= WARM_UPS:
                    version["times_ms"].append(cuda.event_elapsed_time(begin, end))
    whole = statistics.median(versions[0]["times_ms"])
    for version in versions:
        version["measured"] = whole / statistics.median(version["times_ms"])
        version["same"] = version["digest"] == versions[0]["digest"] and not version["is_zero"]
    return {"kernel": kernel, "versions": versions}


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--prepare", type=Path, metavar="FILE", help="only find the fixes")
    parser.add_argument("--fixes", type=Path, metavar="FILE", help="fixes that were found before")
    parser.add_argument("--arch", default="sm_90", help="with --prepare: the GPU's architecture")
    parser.add_argument("--out", type=Path, help="where to write what was measured")
    asked = parser.parse_args()
    if asked.prepare is not None:
        asked.prepare.write_text(json.dumps(find_fixes(asked.arch), indent=1) + "\n")
        return
    if asked.out is None or asked.fixes is None:
        parser.error("--prepare, or --fixes and --out, are needed")
    from numba import cuda

    found = json.loads(asked.fixes.read_text())
    kernels = [measure(name, fixes) for name, fixes in sorted(found.items())]
    device = cuda.get_current_device().name
    device = device.decode() if isinstance(device, bytes) else str(device)
    asked.out.write_text(json.dumps({"device": device, "kernels": kernels}, indent=1) + "\n")
    for one in kernels:
        for version in one["versions"]:
            print(
                f"{one['kernel']:12} {version['rewrite']:20} same {version['same']!s:5} "
                f"difference {version['difference']:.1e} modelled {version['modelled'] or 0:6.2f} "
                f"measured {version['measured']:6.2f} "
                f"{statistics.median(version['times_ms']):8.3f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
