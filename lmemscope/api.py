"""The program as a function, typed: inputs and options in, a `lmemscope.model.Report` out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor

from lmemscope.config.kinds import Place
from lmemscope.config.settings import from_arguments
from lmemscope.files import DEFAULT_LIMIT
from lmemscope.model import Frontend, Report


def scan(
    *paths: str | os.PathLike[str],
    arch: Sequence[str] = (),
    frontend: Frontend = "auto",
    include_dirs: Sequence[str | os.PathLike[str]] = (),
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
    compile_ptx: Sequence[str] = (),
    kernels: Sequence[str] = (),
    jobs: int | None = None,
    timeout: float | None = None,
    max_file_size: int = DEFAULT_LIMIT,
    causes: bool = True,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    toolkit: str | os.PathLike[str] | None = None,
    linked: bool = False,
    lto: bool = False,
    build_database: bool = True,
    objects: bool = True,
    trust_build: bool = False,
    cache: bool = True,
    executor: Executor | None = None,
) -> Report:
    """Analyse files and directories, as ``lmemscope scan`` does.

    Args:
        paths: ``.cu``, ``.cuh``, ``.ptx`` and ``.cubin`` files, and directories of them.
        arch: architectures (``sm_90``); without any, the GPU present or ``sm_90``.
        frontend: route from CUDA C++ to PTX.
        include_dirs, defines, std, maxrregcount, use_fast_math: as nvcc's options of these names.
        instantiate: templates to instantiate, name expressions such as ``rm<32>``.
        nvrtc_args, nvcc_args, ptxas_args: passed through, each to its own tool; what nvcc would
            hand to ptxas, such as ``-Xptxas``, reaches it.
        signatures: types of Python kernels, ``kernel(float32[::1], int32)``.
        run_python: run ``.py`` inputs, each in a process of its own, to compile Numba kernels.
        compile_ptx: architectures (``sm_90``) to compile the PTX of binaries for that hold no code
            for them.
        kernels: globs over kernel names; without any, all.
        jobs: worker processes, 1 or more; by default one per CPU.
        timeout: seconds that one unit may take, above 0.
        max_file_size: MiB that an input may have; 512 by default.
        causes: whether to look for causes and names, or to stop at the facts.
        include, exclude: globs over files of directories and builds, relative to the working
            directory.
        toolkit: a CUDA installation, or a directory of wheels, to take every tool from.
        linked: whether to link the inputs too, as one program, or as the links of their build.
        lto: whether to link also with link-time optimisation, and compare.
        build_database: whether a project's ``compile_commands.json`` says how its files are
            compiled.
        objects: whether facts are read from the build's objects: of units without local memory, and
            without ``causes`` of all.
        trust_build: whether to take options of builds that may run a program, load a library or
            write a file.
        cache: whether to keep what the compilers made for the next call.
        executor: where units run; by default worker processes of this machine.

    Returns:
        One unit per input and architecture. A unit that could not be analysed has a ``failure``;
        nothing is raised for it.

    Raises:
        UsageError: the request is wrong whatever the inputs hold, such as an unknown architecture
            or a value that an option does not take.
    """
    # The parameters are the rows of the table of options that the API takes, by name.
    given = dict(locals())
    from lmemscope.app.execute import run
    from lmemscope.app.session import Session

    settings = from_arguments(given)
    names = [os.fspath(path) for path in paths]
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise Place("scan: executor").refuse(executor, "a concurrent.futures.Executor")
    with Session(settings, executor) as session:
        return run(names, session)
