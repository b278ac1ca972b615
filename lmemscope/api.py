"""The program as a function, typed: inputs and options in, a `lmemscope.model.Report` out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor

from lmemscope.config.cache_directory import default_directory
from lmemscope.config.settings import Settings, available_cpus
from lmemscope.model import CompileOptions, Frontend, Report


def scan(
    *paths: str | os.PathLike[str],
    arch: Sequence[str] = (),
    frontend: Frontend = "auto",
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
    std: str | None = None,
    maxrregcount: int | None = None,
    use_fast_math: bool = False,
    instantiate: Sequence[str] = (),
    nvrtc_args: Sequence[str] = (),
    nvcc_args: Sequence[str] = (),
    ptxas_args: Sequence[str] = (),
    signatures: Sequence[str] = (),
    run_python: bool = False,
    kernels: Sequence[str] = (),
    jobs: int | None = None,
    timeout: float | None = None,
    causes: bool = True,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    toolkit: str | os.PathLike[str] | None = None,
    cache: bool = True,
    executor: Executor | None = None,
) -> Report:
    """Analyse files and directories, as ``lmemscope scan`` does.

    Args:
        paths: ``.cu``, ``.cuh``, ``.ptx`` and ``.cubin`` files, and directories of them.
        arch: architectures (``sm_90``); without any, the GPU present or ``sm_90``.
        frontend: route from CUDA C++ to PTX.
        include_dirs, defines, std, maxrregcount, use_fast_math, instantiate: as nvcc's options
            of these names; ``instantiate`` takes name expressions such as ``rm<32>``.
        nvrtc_args, nvcc_args, ptxas_args: passed through, each to its own tool.
        signatures: types of Python kernels, ``kernel(float32[::1], int32)``.
        run_python: run ``.py`` inputs, each in a process of its own, to compile Numba kernels.
        kernels: globs over kernel names; without any, all.
        jobs: worker processes; by default one per CPU.
        timeout: seconds that one unit may take.
        causes: whether to look for causes and names, or to stop at the facts.
        include, exclude: globs over files of directories and builds, relative to the working
            directory.
        toolkit: a CUDA installation, or a directory of wheels, to take every tool from.
        cache: whether to keep what the compilers made for the next call.
        executor: where units run; by default worker processes of this machine.

    Returns:
        One unit per input and architecture. A unit that could not be analysed has a ``failure``;
        nothing is raised for it.

    Raises:
        UsageError: the request is wrong whatever the inputs hold, such as an unknown architecture.
    """
    from lmemscope import pipeline
    from lmemscope.running.launch import UNITS
    from lmemscope.running.pool import WorkerPool

    settings = Settings(
        archs=tuple(arch),
        frontend=frontend,
        options=CompileOptions(
            include_dirs=tuple(os.path.abspath(path) for path in include_dirs),
            defines=tuple(defines),
            std=std,
            maxrregcount=maxrregcount,
            use_fast_math=use_fast_math,
            instantiate=tuple(instantiate),
            nvrtc_args=tuple(nvrtc_args),
            nvcc_args=tuple(nvcc_args),
            ptxas_args=tuple(ptxas_args),
            signatures=tuple(signatures),
            run_python=run_python,
            time_limit=timeout,
        ),
        kernels=tuple(kernels),
        jobs=jobs or available_cpus(),
        timeout=timeout,
        causes=causes,
        include=tuple(include),
        exclude=tuple(exclude),
        root=os.getcwd(),
        cache=default_directory() if cache else None,
        toolkit=os.path.abspath(toolkit) if toolkit is not None else None,
    )
    names = [os.fspath(path) for path in paths]
    if executor is not None:
        return pipeline.run(names, settings, executor)
    with WorkerPool(settings.jobs, timeout=timeout, preload=UNITS) as pool:
        return pipeline.run(names, settings, pool)
