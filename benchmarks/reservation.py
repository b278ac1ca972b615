"""Device memory that the driver reserves for local memory and launches, measured and predicted.

    python benchmarks/reservation.py > benchmarks/data/reservation.json

Needs a GPU and CuPy. Each case runs in a process of its own, because what the driver has once
reserved it keeps until the context ends: it notes the free memory of the device before and after
each step. Nothing else may use the GPU meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

STACK_LIMIT, PENDING_LIMIT = 0, 4
"""cudaLimitStackSize, cudaLimitDevRuntimePendingLaunchCount."""
FRAMES = (
    *(0, 16, 64, 256, 512, 768, 1000, 1024, 1040, 1280, 1536, 2048, 2560, 3072, 4096, 5000, 6144),
    *(8192, 12288, 16384, 24576, 32768, 65536, 100000, 131072, 200000),
)
FRAME = """extern "C" __global__ void uses_%d(int *p, int n) {
  volatile int own[%d];
  own[n] = n;
  own[n + 1] = p[n];
  p[0] = own[p[1]];
}
"""
NO_FRAME = 'extern "C" __global__ void uses_0(int *p, int n) { p[0] = n; }\n'
RECURSION = """__device__ __noinline__ int depth(int *p, int n) {
  return n <= 0 ? 1 : p[n] + depth(p, n - 1) * depth(p, n - 2);
}
extern "C" __global__ void recurses(int *p, int n) { p[0] = depth(p, n); }
"""
CALLED = """__device__ __noinline__ int callee(int *p, int n) {
  volatile int own[%d];
  own[n] = n;
  own[n + 1] = p[n];
  return own[p[1]];
}
extern "C" __global__ void calls(int *p, int n) { p[0] = callee(p, n) + callee(p + 1, n + 1); }
"""
LAUNCH = """__global__ void child(int *p) { p[2] = 1; }
extern "C" __global__ void launches(int *p, int n) { child<<<1, 32>>>(p); }
"""
LAUNCH_FRAME = """__global__ void child(int *p, int n) {
  volatile int own[%d];
  own[n] = n;
  own[n + 1] = p[n];
  p[2] = own[p[1]];
}
extern "C" __global__ void launches(int *p, int n) { child<<<1, 32>>>(p, n); }
"""


def cases() -> Iterator[dict[str, Any]]:
    """What to measure: limits to set first, and the kernels to launch one after another."""
    for limit in (None, 512, 2048, 4096, 16384):
        yield {"name": "rising", "stack": limit, "frames": FRAMES}
    yield {"name": "falling", "stack": None, "frames": FRAMES[::-3]}
    for frame in (0, 512, 1024, 2048, 4096, 8192, 16384, 65536):
        yield {"name": "alone", "stack": None, "frames": [frame]}
    for limit in (2048, 8192, 32768):
        for frame in (0, 512, 4096, 16384):
            yield {"name": "alone", "stack": limit, "frames": [frame]}
    for limit in (None, 2048, 8192, 65536):
        yield {"name": "recursion", "stack": limit, "program": RECURSION, "kernel": "recurses"}
    for limit in (None, 8192):
        for frame in (1024, 4096):
            program = CALLED % (frame // 4)
            yield {"name": "callee", "stack": limit, "program": program, "kernel": "calls"}
    for pending in (None, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072):
        yield {"name": "launch", "pending": pending, "program": LAUNCH, "kernel": "launches"}
    for frame in (1024, 4096):
        for pending in (None, 32768):
            program = LAUNCH_FRAME % (frame // 4)
            yield {
                "name": f"launch-{frame}",
                "pending": pending,
                "program": program,
                "kernel": "launches",
            }
    launch = {"program": LAUNCH, "kernel": "launches"}
    yield {"name": "launch-stack", "stack": 8192, "pending": None, **launch}


def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
    """One case, in this process, whose context is new: what is taken after each step."""
    import cupy
    from cupy.cuda import runtime
    from device_code import load

    runtime.free(0)
    buffer = cupy.zeros(1 << 16, dtype=cupy.int32)
    runtime.deviceSynchronize()
    before, _ = runtime.memGetInfo()
    about = {"case": case["name"], "stack": case.get("stack"), "pending": case.get("pending")}
    rows: list[dict[str, Any]] = []

    def note(step: str, **more: object) -> None:
        free, _ = runtime.memGetInfo()
        rows.append({**about, "step": step, **more, "reserved": before - free})

    for name, limit in (("stack", STACK_LIMIT), ("pending", PENDING_LIMIT)):
        if case.get(name) is not None:
            runtime.deviceSetLimit(limit, case[name])
            note(f"set-{name}")
    wanted = [(case["program"], case["kernel"])] if "program" in case else []
    for frame in case.get("frames", ()):
        text = FRAME % (frame, frame // 4) if frame else NO_FRAME
        wanted.append((text, f"uses_{frame}"))
    kept = []
    for text, name in wanted:
        module = load(text)
        kernel = module.get_function(name)
        local = attribute(kernel)
        note("load", local=local)
        kernel((1,), (32,), (buffer, cupy.int32(1)))
        runtime.deviceSynchronize()
        note("launch", local=local)
        kept.append(module)
    return rows


def attribute(kernel: Any) -> int:
    """CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: local memory per thread, as the driver says."""
    from cupy.cuda import driver

    return int(driver.funcGetAttribute(3, kernel.ptr))


def about() -> dict[str, Any]:
    """The machine, in a process of its own."""
    from cupy.cuda import runtime

    found = runtime.getDeviceProperties(0)
    return {
        "name": found["name"].decode(),
        "multiprocessors": found["multiProcessorCount"],
        "threads": found["maxThreadsPerMultiProcessor"],
        "driver": runtime.driverGetVersion(),
        "runtime": runtime.runtimeGetVersion(),
    }


def run(case: dict[str, Any] | None) -> Any:
    """A case in a process of its own.

    Raises:
        CalledProcessError: it went wrong; what it said is on standard error.
    """
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Measure all cases, or the one that is asked for."""
    if sys.argv[1:2] == ["--case"]:
        case = json.loads(sys.argv[2])
        print(json.dumps(about() if case is None else measure(case)))
        return
    rows = [{"process": number, **row} for number, case in enumerate(cases()) for row in run(case)]
    meaning = "reserved: bytes of device memory taken since the context was made"
    print(json.dumps({"device": run(None), "meaning": meaning, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
