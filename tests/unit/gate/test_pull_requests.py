"""Pull requests that want past the gate, and harmless ones, in every format: `check --new-since`.

Some are asked of `check --changed`, where only the baseline says what is known.

Git is real; what compilers would say is recorded, so that no toolchain is needed.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.app import earlier, gate
from lmemscope.app.baseline_file import baseline_for
from lmemscope.app.checkout import NewOptions
from lmemscope.app.session import Session
from lmemscope.config.settings import from_flags
from lmemscope.exporters import render
from lmemscope.gate import baseline
from lmemscope.model import Baseline, Checked, Gap, MissingEvidence, Report
from tests.support.answers import OBJECTIONS
from tests.support.builders import judged
from tests.support.gate_reports import (
    BROKEN,
    TEMPLATES,
    found,
    known,
    project,
    with_figures,
)
from tests.support.repositories import git

FORMATS = ("text", "github", "markdown", "pr-comment", "json", "sarif", "junit")
CMAKE = "project(p LANGUAGES CUDA)\nadd_library(p a.cu)\nset(CMAKE_CUDA_STANDARD 17)\n"
GATE = "lint:\n\tlmemscope check . --new-since origin/main\n"
MARKER = "@pytest.mark.lmem('a.cu', max_frame=0)\ndef test(): pass\n"
PROJECT = "[project]\nversion = '1'\n[tool.lmemscope]\narch = ['sm_90']\n"
WORKFLOW = "jobs:\n  gate:\n    steps:\n      - run: lmemscope check . --new-since origin/main\n"
ALLOW = '// lmemscope: allow dynamic-index 80 "measured"\n'
EXPECT = "// lmemscope: expect registers<=32 frame=0\n"
TEXT = "__global__ void k() {}\n"

CLEAN, DIRTY = project(a=(judged("k"),)), project(a=(found("k"),))
TWO = project(a=(found("k"), found("added", 256)))
SPILLS = project(a=(found("k", 96, "register-spill"),))


def said_in(text: str, report: Report | None = None) -> Report:
    """A report of ``a.cu``, which holds the text."""
    given = report or CLEAN
    kernels = given.units[0].kernels
    return project(a=kernels, sources={"a": text})


@dataclass(frozen=True)
class PullRequest:
    """What somebody did, and what the gate has to answer.

    Attributes:
        name: what was done.
        code: that `check` exits with.
        now, before: reports of the branch and of its merge base, by the options of today.
        base, head: files of the merge base, and what the branch makes of them; None deletes one,
            and a path is what a link leads to.
        known, claimed: baselines of the merge base and of the branch; a claimed one of None is that
            of the merge base.
        command: words of today's command for ``a.cu``.
        without: the merge base's report without the words that are new; None as with them.
        flags: of the command line.
        asked: other options of the command line.
        changed: asked with ``--changed``, not ``--new-since``.
        review: parts of the sentences that every format has to show.
        unsaid: what no format may say.
    """

    name: str
    code: int
    now: Report
    before: Report = CLEAN
    base: Mapping[str, str] = field(default_factory=dict)
    head: Mapping[str, str | Path | None] = field(default_factory=dict)
    known: Baseline | None = None
    claimed: Baseline | None = None
    command: tuple[str, ...] = ()
    without: Report | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    changed: bool = False
    review: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()


def framed(*names: str) -> Report:
    """A report of ``a.cu`` with kernels that have frames."""
    return project(a=tuple(with_figures(found(name), frame=80) for name in names))


def reading(report: Report, header: str) -> Report:
    """The report with a header that all its units read."""
    units = (replace(unit, sources={unit.input: "", header: ""}) for unit in report.units)
    return replace(report, units=tuple(units))


def unrun(name: str) -> Gap:
    """A Python file whose kernels only running it would show."""
    return Gap("run", f"{name} holds kernels that only running it compiles", "uninstantiated", name)


P = PullRequest
UNRUN = Gap("run", "n.py holds kernels that only running it would compile", "uninstantiated")
ALLOWING = {
    "lmemscope.toml": '[[allowances]]\nkernel = "k*"\ncause = "dynamic-index"\nreason = "ours"\n'
}
TRUST = {"trust_configuration": True}
GROWN, CREPT = project(a=(found("k", 96),)), project(a=(found("k", 112),))
TOLERANT = {"lmemscope.toml": "tolerance = 16\n"}
MADE = {"CMakeLists.txt": CMAKE}
FAST = CMAKE + "set(FAST OFF)\nif(FAST)\n  target_compile_definitions(p PRIVATE BIG)\nendif()\n"
TESTED = CMAKE + "set(TESTS OFF)\nif(TESTS)\n  add_subdirectory(tests)\nendif()\n"
LISTED = CMAKE + "file(STRINGS names.lst NAMES)\ntarget_compile_definitions(p PRIVATE ${NAMES})\n"
MAKING = CMAKE + "set(SIZE 20)\nconfigure_file(config.h.in config.h)\n"
TEMPLATE = {"config.h.in": "#define SIZE @SIZE@\n", "CMakeLists.txt": MAKING}
GENERATED = reading(DIRTY, "build/config.h")
RUNNING = (
    CMAKE + "execute_process(COMMAND ${CMAKE_SOURCE_DIR}/flags.py OUTPUT_VARIABLE F)\n"
    "target_compile_options(p PRIVATE ${F})\n"
)
READING = CMAKE + "file(READ VERSION V)\nset(CPACK_PACKAGE_VERSION ${V})\n"
FETCHING = (
    CMAKE + "set(TAG v1)\nFetchContent_Declare(Bins GIT_REPOSITORY u GIT_TAG ${TAG})\n"
    "FetchContent_Declare(other GIT_REPOSITORY o GIT_TAG v3)\n"
    "FetchContent_MakeAvailable(Bins other)\n"
)
FETCHED = reading(DIRTY, "build/_deps/bins-src/b.h")
PACKAGED = reading(DIRTY, "build/vcpkg_installed/include/bins/b.h")
OLDER = known(project(version="13.4", a=(found("k"),)))
AHEAD = MissingEvidence("b.cu", "instantiate", "only templates: rm")
BIG = CMAKE + "target_compile_definitions(p PRIVATE BIG)\n"
CAPPED = CMAKE + "set_source_files_properties(a.cu PROPERTIES COMPILE_OPTIONS -maxrregcount=40)\n"
PULL_REQUESTS = (
    # What the merge base has and what the branch adds.
    P("touches a file with old debt", 0, DIRTY, DIRTY, unsaid=("To review", "review:")),
    P("adds an array beside old debt", 1, TWO, DIRTY, review=("added", "256 bytes")),
    P("lets old debt grow", 1, GROWN, DIRTY, review=("96 bytes",)),
    P("makes old debt smaller", 0, DIRTY, GROWN, review=("96", "80")),
    P("removes old debt", 0, CLEAN, DIRTY, review=("dynamic-index",)),
    P("exchanges an array for another of its size", 1,
      project(a=(judged("k"), found("other"))), project(a=(found("k"), judged("other"))),
      review=("other",)),
    P("exchanges one cause for another", 1, SPILLS, project(a=(found("k", 96),)),
      review=("register-spill",)),
    P("breaks a file", 3, project(a=BROKEN), DIRTY, review=("NVRTC refused",)),
    P("repairs a file that was broken", 1, DIRTY, project(a=BROKEN), review=("counts as new",)),
    P("leaves a template without an instance", 3, project(a=TEMPLATES), CLEAN,
      review=("only templates: rm",)),
    P("has a template that had no instance before", 0, project(a=TEMPLATES, b=(judged("o"),)),
      project(a=TEMPLATES, b=(judged("o"),)), review=("not checked, as at main",)),
    P("moves a file and renames its array", 0, project(b=(found("k", object_="renamed"),)), DIRTY,
      head={"a.cu": None, "b.cu": TEXT}, review=("a.cu is treated as moved to b.cu",)),
    P("moves a file and lets its array grow", 1, project(b=(found("k", 96),)), DIRTY,
      head={"a.cu": None, "b.cu": TEXT}, review=("96 bytes",)),
    P("copies a file and renames its array", 1,
      project(a=(found("k"),), b=(found("k", object_="renamed"),)), DIRTY,
      head={"b.cu": TEXT}, review=("new: k (b.cu",)),
    # The baseline of the branch.
    P("has the baseline of its merge base", 0, DIRTY, CLEAN, known=known(DIRTY),
      review=("new since main, and accepted: k (a.cu, sm_90): dynamic-index `table`, 80 bytes: "
              "the baseline has it",)),
    P("adds a file like one that is long gone", 1, project(a=(judged("k"),), b=(found("o"),)),
      CLEAN, known=known(project(gone=(found("o"),))), head={"b.cu": TEXT},
      review=("new: o (b.cu",)),
    P("moves a file that the baseline has", 0, project(b=(found("k"),)), CLEAN, known=known(DIRTY),
      head={"a.cu": None, "b.cu": TEXT}, review=("a.cu is treated as moved to b.cu",)),
    P("links the baseline to another", 3, TWO, DIRTY, known=known(DIRTY),
      base={"other.json": baseline.render(known(TWO))},
      head={"lmemscope-baseline.json": Path("other.json")},
      review=("added (sm_90): dynamic-index `table`, 256 bytes at a.cu:7: accepted by the",)),
    P("adds an array, and to the baseline", 3, TWO, DIRTY, known=known(DIRTY), claimed=known(TWO),
      review=("added (sm_90): dynamic-index `table`, 256 bytes at a.cu:7",
              "accepted by the baseline of this change, but not by that of main",
              "new in the baseline since the merge base with main: added (a.cu, sm_90)")),
    P("adds an array, and the first baseline", 3, TWO, DIRTY, claimed=known(TWO),
      review=("added", "accepted by the baseline of this change")),
    P("adds to the baseline by a trusted command", 0, TWO, DIRTY, known=known(DIRTY),
      claimed=known(TWO), asked=TRUST, review=("added", "accepted by the baseline of this change")),
    P("adds to the baseline where evidence may be missing", 3, TWO, DIRTY, known=known(DIRTY),
      claimed=known(TWO), asked={"allow_incomplete": True}, review=("added",)),
    P("raises the bytes of an entry by hand", 3, GROWN, DIRTY, known=known(DIRTY),
      claimed=known(GROWN), review=("96 bytes",)),
    P("writes what the merge base has into the baseline", 0, DIRTY, DIRTY, claimed=known(DIRTY),
      review=("new in the baseline since",)),
    P("takes what is gone out of the baseline", 0, CLEAN, DIRTY, known=known(DIRTY),
      claimed=known(CLEAN), unsaid=("new in the baseline",)),
    P("deletes the baseline", 0, DIRTY, DIRTY, known=known(DIRTY),
      head={"lmemscope-baseline.json": None},
      review=("the baseline of the merge base with main, is gone",)),
    P("deletes the baseline and adds an array", 1, TWO, DIRTY, known=known(DIRTY),
      head={"lmemscope-baseline.json": None}, review=("added", "is gone")),
    P("records in the baseline that an array is smaller", 0, DIRTY, GROWN, known=known(GROWN),
      claimed=known(DIRTY), unsaid=("new in the baseline",)),
    P("has a baseline that git does not know", 0, TWO, DIRTY, claimed=known(TWO),
      base={".gitignore": "lmemscope-baseline.json\n"}),
    P("repairs the baseline", 0, DIRTY, DIRTY, base={"lmemscope-baseline.json": "{}"},
      claimed=known(DIRTY), review=("the baseline of the merge base with main is not used",)),
    P("narrows the baseline's architectures", 3, project(arch="sm_80", a=(judged("k"),)),
      project(arch="sm_80", a=(judged("k"),)), known=known(CLEAN, archs=("sm_80", "sm_90")),
      claimed=known(CLEAN, archs=("sm_80",)),
      review=("sm_90, which the baseline of the merge base with main names, is not checked",)),
    P("changes the baseline's default architecture", 3, project(arch="sm_80", a=(judged("k"),)),
      project(arch="sm_80", a=(judged("k"),)), known=known(CLEAN, default_arch="sm_90"),
      claimed=known(CLEAN, default_arch="sm_80"), review=("sm_90, which the baseline of",)),
    P("names other architectures by flags", 0, project(arch="sm_80", a=(judged("k"),)),
      project(arch="sm_80", a=(judged("k"),)), known=known(CLEAN, archs=("sm_80", "sm_90")),
      claimed=known(CLEAN, archs=("sm_80",)), flags={"arch": ("sm_80",)}),
    P("accepts missing evidence in its own baseline", 3,
      project(a=(judged("k"),), b=TEMPLATES), project(a=(judged("k"),)),
      claimed=known(CLEAN, gaps=()), review=("only templates: rm",)),
    # What a baseline accepts that is not there, or not yet.
    P("adds an entry for an array to come", 3, DIRTY, DIRTY, known=known(DIRTY), claimed=known(TWO),
      review=("added (sm_90): dynamic-index `table`, 256 bytes: new in the baseline since main, "
              "but not in the code",)),
    P("adds an entry for a file to come", 3, DIRTY, DIRTY, known=known(DIRTY),
      claimed=known(project(a=(found("k"),), later=(found("k", 256),))),
      review=("new in the baseline since main, but not in the code",)),
    P("gives an entry more bytes than there are", 3, DIRTY, DIRTY, known=known(DIRTY),
      claimed=known(CREPT), review=("112 bytes: in the baseline since main, but the code has 80",)),
    P("adds an entry for an array to come by a trusted command", 0, DIRTY, DIRTY,
      known=known(DIRTY), claimed=known(TWO), asked=TRUST, review=("but not in the code",)),
    P("says that an older toolkit wrote the baseline", 3, DIRTY, DIRTY, known=known(DIRTY),
      claimed=OLDER, review=("nvrtc 13.4 wrote it, unlike that of main",)),
    P("keeps a baseline that an older toolkit wrote", 0, DIRTY, DIRTY, known=OLDER, claimed=OLDER),
    P("writes the first baseline with another toolkit", 0, DIRTY, DIRTY,
      claimed=known(project(version="13.4", a=(found("k", 96),)))),
    P("accepts in advance that evidence is missing", 3, DIRTY, DIRTY, known=known(DIRTY),
      claimed=known(DIRTY, gaps=(AHEAD,)), review=("only templates: rm: accepted by the",)),
    P("drops an entry that nothing needs", 0, DIRTY, DIRTY, known=known(TWO), claimed=known(DIRTY),
      unsaid=("not in the code",)),
    P("renames a kernel, and in the baseline", 0, project(a=(found("r"),)), DIRTY,
      known=known(DIRTY), claimed=known(project(a=(found("r"),))), unsaid=("not in the code",)),
    # The same where only what changed is looked at.
    P("--changed: adds an array, and to the baseline", 3, TWO, DIRTY, known=known(DIRTY),
      claimed=known(TWO), changed=True,
      review=("accepted by the baseline of this change, but not by that of main",)),
    P("--changed: adds to the baseline by a trusted command", 0, TWO, DIRTY, known=known(DIRTY),
      claimed=known(TWO), changed=True, asked=TRUST, review=("accepted by the baseline of",)),
    P("--changed: adds to the baseline where evidence may be missing", 3, TWO, DIRTY,
      known=known(DIRTY), claimed=known(TWO), changed=True, asked={"allow_incomplete": True}),
    P("--changed: writes the first baseline of old debt", 0, DIRTY, DIRTY, claimed=known(DIRTY),
      changed=True, review=("new in the baseline since main",)),
    P("--changed: writes the first baseline and adds an array", 3, TWO, DIRTY, claimed=known(TWO),
      changed=True, review=("added (sm_90): dynamic-index `table`, 256 bytes at a.cu",)),
    P("--changed: adds an entry for an array to come", 3, DIRTY, DIRTY, known=known(DIRTY),
      claimed=known(TWO), changed=True, review=("but not in the code",)),
    P("--changed: an array grows, and a toolkit is older", 3, GROWN, DIRTY, known=known(DIRTY),
      claimed=OLDER, changed=True, review=("96 bytes", "accepted by the baseline of this change")),
    P("--changed: has the baseline of its base", 0, DIRTY, CLEAN, known=known(DIRTY), changed=True),
    P("--changed: removes an array, and from the baseline", 0, CLEAN, DIRTY, known=known(DIRTY),
      claimed=known(CLEAN), changed=True),
    P("--changed: loses an entry", 1, TWO, TWO, known=known(TWO), claimed=known(DIRTY),
      changed=True, review=("added",)),
    # A baseline that is not what the merge base has.
    P("removes what the baseline and the merge base have otherwise", 0, CLEAN, GROWN,
      known=known(DIRTY), base=TOLERANT, review=("dynamic-index",)),
    P("touches what the baseline has and the merge base has not", 0, CLEAN, CLEAN,
      known=known(DIRTY), unsaid=("gone: k",)),
    P("grows within the tolerance once", 0, GROWN, DIRTY, known=known(DIRTY), base=TOLERANT),
    P("grows within the tolerance again", 1, CREPT, GROWN, known=known(DIRTY), base=TOLERANT,
      review=("112 bytes",)),
    P("leaves what has used the tolerance", 0, GROWN, GROWN, known=known(DIRTY), base=TOLERANT),
    P("lets an array grow to what an older toolkit's baseline has", 1, CREPT, DIRTY,
      known=known(project(version="13.4", a=(found("k", 120),))), review=("112 bytes",)),
    P("adds a second array where the first has used the tolerance", 1,
      project(a=(judged("k", "dynamic-index", "dynamic-index"),)), GROWN, known=known(DIRTY),
      base=TOLERANT, review=("80 bytes",)),
    # Options of the build.
    P("defines a macro that brings an array", 3, DIRTY, DIRTY, base=MADE,
      head={"CMakeLists.txt": BIG}, command=("nvcc", "-DBIG", "-c", "a.cu"), without=CLEAN,
      review=("k (sm_90): dynamic-index `table`, 80 bytes",
              "CMakeLists.txt changed options: -DBIG")),
    P("defines a macro by two words", 3, DIRTY, DIRTY, base=MADE, head={"CMakeLists.txt": BIG},
      command=("nvcc", "-D", "BIG", "-c", "a.cu"), without=CLEAN, review=("-D, BIG",)),
    P("caps registers", 3, SPILLS, SPILLS, base=MADE, head={"CMakeLists.txt": CAPPED},
      command=("nvcc", "-maxrregcount=40", "-c", "a.cu"), without=CLEAN,
      review=("register-spill", "-maxrregcount=40")),
    P("lowers a cap of registers", 3, SPILLS, SPILLS,
      base={"CMakeLists.txt": CAPPED.replace("40", "64")}, head={"CMakeLists.txt": CAPPED},
      command=("nvcc", "-maxrregcount=40", "-c", "a.cu"), without=CLEAN,
      review=("register-spill",)),
    P("caps registers, which its baseline accepts", 3, SPILLS, SPILLS, base=MADE,
      known=known(CLEAN), claimed=known(SPILLS), head={"CMakeLists.txt": CAPPED},
      command=("nvcc", "-maxrregcount=40", "-c", "a.cu"), without=CLEAN,
      review=("register-spill",)),
    P("defines a harmless macro beside old debt", 0, DIRTY, DIRTY, base=MADE,
      head={"CMakeLists.txt": BIG}, command=("nvcc", "-DBIG", "-c", "a.cu"), without=DIRTY,
      review=("changed options: -DBIG",)),
    P("takes a macro away that hid an array", 3, DIRTY, DIRTY, base={"CMakeLists.txt": BIG},
      head=MADE, command=("nvcc", "-c", "a.cu"),
      review=("may have changed options, in target_compile_definitions p",)),
    P("changes the kind of build", 3, DIRTY, DIRTY, base=MADE,
      head={"CMakeLists.txt": CMAKE + "set(CMAKE_BUILD_TYPE Debug)\n"}, command=("nvcc", "a.cu"),
      review=("may have changed options, in set CMAKE_BUILD_TYPE",)),
    P("changes the kind of build; the baseline has the debt", 0, DIRTY, DIRTY, base=MADE,
      known=known(DIRTY), head={"CMakeLists.txt": CMAKE + "set(CMAKE_BUILD_TYPE Debug)\n"},
      command=("nvcc", "a.cu"), review=("may have changed options",)),
    P("adds a source to the build beside old debt", 0, DIRTY, DIRTY, base=MADE,
      head={"CMakeLists.txt": CMAKE.replace("a.cu", "a.cu b.cu")}, command=("nvcc", "a.cu"),
      review=("CMakeLists.txt changed, in no option known",)),
    P("caps registers in a script that configures the build", 3, SPILLS, SPILLS,
      base={"ci/build.sh": "cmake -B build\n"},
      head={"ci/build.sh": "cmake -B build -DCMAKE_CUDA_FLAGS=-maxrregcount=40\n"},
      command=("nvcc", "-maxrregcount=40", "-c", "a.cu"), without=CLEAN,
      review=("ci/build.sh changed options: -maxrregcount=40",)),
    P("lowers a cap in a script that configures the build", 3, SPILLS, SPILLS,
      base={"ci/build.sh": "cmake -B build -DCMAKE_CUDA_FLAGS='-maxrregcount 80'\n"},
      head={"ci/build.sh": "cmake -B build -DCMAKE_CUDA_FLAGS='-maxrregcount 40'\n"},
      command=("nvcc", "-maxrregcount", "40", "-c", "a.cu"), without=CLEAN,
      review=("ci/build.sh changed options: -maxrregcount, 40",)),
    P("takes a macro out of a script that configures the build", 3, DIRTY, DIRTY,
      base={"ci/build.sh": "cmake -B build -DCMAKE_CUDA_FLAGS=-DSMALL\n"},
      head={"ci/build.sh": "cmake -B build\n"}, command=("nvcc", "-c", "a.cu"),
      review=("ci/build.sh may have changed options",)),
    P("takes a macro out of a program that the build runs", 3, DIRTY, DIRTY,
      base={"CMakeLists.txt": RUNNING, "flags.py": "print('-DSMALL')\n"},
      head={"flags.py": "print()\n"}, command=("nvcc", "-c", "a.cu"),
      review=("flags.py may have changed options",)),
    P("edits a program that the build runs", 0, DIRTY, DIRTY,
      base={"CMakeLists.txt": RUNNING, "flags.py": "print('-DSMALL')\n"},
      head={"flags.py": "print('-DSMALL')  # as ever\n"},
      command=("nvcc", "-DSMALL", "-c", "a.cu")),
    P("releases a version that the build reads", 0, DIRTY, DIRTY,
      base={"CMakeLists.txt": READING, "VERSION": "alpha\n"}, head={"VERSION": "beta\n"},
      command=("nvcc", "-c", "a.cu")),
    P("fetches another release of what is included", 3, FETCHED, FETCHED,
      base={"CMakeLists.txt": FETCHING}, head={"CMakeLists.txt": FETCHING.replace("v1", "v2")},
      command=("nvcc", "-c", "a.cu"), review=("may have changed build/_deps/bins-src/b.h",)),
    P("fetches another release of something else", 0, FETCHED, FETCHED,
      base={"CMakeLists.txt": FETCHING}, head={"CMakeLists.txt": FETCHING.replace("v3", "v4")},
      command=("nvcc", "-c", "a.cu")),
    P("asks for another release of a package", 3, PACKAGED, PACKAGED,
      base={"vcpkg.json": '{"dependencies": ["bins"]}\n', "CMakeLists.txt": CMAKE},
      head={"vcpkg.json": '{"dependencies": ["bins", "other"]}\n'}, command=("nvcc", "-c", "a.cu"),
      review=("vcpkg.json may have changed build/vcpkg_installed/include/bins/b.h",)),
    P("edits a script", 0, DIRTY, DIRTY, base={"ci/build.sh": "cmake -B build\n"},
      head={"ci/build.sh": "cmake -B build --fresh\n"}, command=("nvcc", "a.cu"),
      unsaid=("build.sh",)),
    P("comments a build file", 0, DIRTY, DIRTY, base=MADE, command=("nvcc", "a.cu"),
      head={"CMakeLists.txt": CMAKE + "# target_compile_options(p -G)\n"}),
    P("turns a condition around options on", 3, DIRTY, DIRTY, base={"CMakeLists.txt": FAST},
      head={"CMakeLists.txt": FAST.replace("OFF", "ON")}, command=("nvcc", "-DBIG", "-c", "a.cu"),
      review=("may have changed options, in set FAST",)),
    P("turns a condition around tests on", 0, DIRTY, DIRTY, base={"CMakeLists.txt": TESTED},
      head={"CMakeLists.txt": TESTED.replace("OFF", "ON")}, command=("nvcc", "-c", "a.cu"),
      review=("changed, in no option known",)),
    P("adds to a list of macros that the build reads", 3, DIRTY, DIRTY,
      base={"CMakeLists.txt": LISTED, "names.lst": "SMALL\n"}, head={"names.lst": "SMALL\nBIG\n"},
      command=("nvcc", "-DBIG", "-c", "a.cu"), without=CLEAN,
      review=("names.lst changed options: -DBIG",)),
    P("builds a source that nobody built", 3, project(a=(judged("k"),), b=(found("o"),)),
      project(a=(judged("k"),), b=(found("o"),)), base={**MADE, "b.cu": TEXT},
      head={"CMakeLists.txt": CMAKE.replace("a.cu", "a.cu b.cu")}, command=("nvcc", "-c", "a.cu"),
      review=("o (sm_90): dynamic-index `table`, 80 bytes", "CMakeLists.txt did not name b.cu")),
    P("changes the template of a header that is read", 3, GENERATED, GENERATED, base=TEMPLATE,
      head={"config.h.in": "#define SIZE 40\n"}, command=("nvcc", "-c", "a.cu"),
      review=("config.h.in may have changed build/config.h",)),
    P("changes a variable of a template", 3, GENERATED, GENERATED, base=TEMPLATE,
      head={"CMakeLists.txt": MAKING.replace("20", "40")}, command=("nvcc", "-c", "a.cu"),
      review=("CMakeLists.txt may have changed build/config.h",)),
    P("changes the template of a header that nothing reads", 0, DIRTY, DIRTY, base=TEMPLATE,
      head={"config.h.in": "#define SIZE 40\n"}, command=("nvcc", "-c", "a.cu")),
    P("adds options of a target that is new", 0, DIRTY, DIRTY, base=MADE,
      head={"CMakeLists.txt": CMAKE + "add_library(h h.cpp)\ntarget_link_libraries(h p)\n"},
      command=("nvcc", "-c", "a.cu")),
    P("adds a source that no build compiles", 0, CLEAN,
      base={".gitignore": "compile_commands.json", "compile_commands.json": "[]"},
      head={"extra.cu": TEXT},
      review=("extra.cu is new since the merge base with main, and the build does not compile",)),
    P("adds Python kernels beside a build", 0, CLEAN,
      base={".gitignore": "compile_commands.json", "compile_commands.json": "[]"},
      head={"extra.py": "from numba import cuda\n@cuda.jit\ndef k(x): pass\n", "no.py": "x = 1\n"},
      review=("extra.py is new since the merge base with main, and the build does not compile",),
      unsaid=("no.py",)),
    # Comments in sources.
    P("allows what it adds", 0, said_in(ALLOW + TEXT, DIRTY), base={"a.cu": TEXT},
      head={"a.cu": ALLOW + TEXT},
      review=("a.cu:1: this allowance is new since the merge base with main: dynamic-index 80",)),
    P("has an allowance of old", 0, said_in(ALLOW + TEXT, DIRTY), base={"a.cu": ALLOW + TEXT},
      head={"a.cu": "\n" + ALLOW + TEXT}, unsaid=("is new since",)),
    P("moves a file with its allowance", 0, project(b=(found("k"),), sources={"b": ALLOW + TEXT}),
      DIRTY, base={"a.cu": ALLOW + TEXT}, head={"a.cu": None, "b.cu": ALLOW + TEXT},
      unsaid=("is new since",)),
    P("copies an allowance", 0,
      project(a=(found("k"),), b=(found("k"),), sources={"a": ALLOW + TEXT, "b": ALLOW + TEXT}),
      DIRTY, base={"a.cu": ALLOW + TEXT}, head={"b.cu": ALLOW + TEXT},
      review=("b.cu:1: this allowance is new since",)),
    P("takes an expectation away", 0, said_in(TEXT), base={"a.cu": EXPECT + TEXT},
      head={"a.cu": TEXT},
      review=("a.cu: this comment of k is changed or gone since the merge base with main: "
              "expect registers<=32 frame=0",)),
    P("weakens an expectation", 0, said_in(EXPECT.replace("32", "64") + TEXT),
      base={"a.cu": EXPECT + TEXT}, head={"a.cu": EXPECT.replace("32", "64") + TEXT},
      review=("expect registers<=32 frame=0",)),
    P("moves an expectation down", 0, said_in("\n\n" + EXPECT + TEXT),
      base={"a.cu": EXPECT + TEXT}, head={"a.cu": "\n\n" + EXPECT + TEXT},
      unsaid=("changed or gone",)),
    P("instantiates a smaller template", 0,
      said_in("// lmemscope: instantiate k<1>\ntemplate <int N> " + TEXT),
      base={"a.cu": "// lmemscope: instantiate k<4>\ntemplate <int N> " + TEXT},
      head={"a.cu": "// lmemscope: instantiate k<1>\ntemplate <int N> " + TEXT},
      review=("instantiate k<4>",)),
    # What runs the gate.
    P("edits the workflow that runs the gate", 0, CLEAN,
      base={".github/workflows/gate.yml": WORKFLOW},
      head={".github/workflows/gate.yml": WORKFLOW + "      - run: 'true'\n"},
      review=(".github/workflows/gate.yml, which may say how this check runs",)),
    P("deletes the job that runs the gate", 0, CLEAN, base={".gitlab-ci.yml": WORKFLOW},
      head={".gitlab-ci.yml": None}, review=(".gitlab-ci.yml, which may say",)),
    P("edits what a workflow calls", 0, CLEAN, base={"Makefile": GATE},
      head={"Makefile": GATE + "\ttrue\n"}, review=("Makefile, which may say how",)),
    P("deletes the owner of the baseline", 0, CLEAN,
      base={"CODEOWNERS": "lmemscope-baseline.json @us\n"}, head={"CODEOWNERS": None},
      review=("CODEOWNERS, which may say how this check runs, is gone",)),
    P("raises a limit of a test", 0, CLEAN, base={"test_k.py": MARKER},
      head={"test_k.py": MARKER.replace("0", "80")}, review=("test_k.py, which may say how",)),
    P("edits a test that asks nothing", 0, CLEAN, base={"test_k.py": "def test(): pass\n"},
      head={"test_k.py": "def test(): ...\n"}, unsaid=("test_k.py",)),
    P("edits a project beside its settings", 0, CLEAN, base={"pyproject.toml": PROJECT},
      head={"pyproject.toml": PROJECT.replace("1", "2")}, unsaid=("may say how",)),
    P("edits another workflow", 0, CLEAN, base={".github/workflows/docs.yml": "jobs: {}\n"},
      head={".github/workflows/docs.yml": "jobs: {a: {}}\n"}, unsaid=("docs.yml",)),
    P("excludes the file that it dirties", 3, CLEAN, base={"lmemscope.toml": ""},
      head={"lmemscope.toml": 'exclude = ["b.cu"]\n'},
      review=("lmemscope.toml is weaker than at the merge base with main: exclude",)),
    P("excludes it by a trusted command", 0, CLEAN, base={"lmemscope.toml": ""},
      head={"lmemscope.toml": 'exclude = ["b.cu"]\n'}, asked=TRUST, review=("is weaker than at",)),
    P("links the configuration to another", 3, DIRTY,
      base={"lmemscope.toml": "", "loose.toml": ALLOWING["lmemscope.toml"]},
      head={"lmemscope.toml": Path("loose.toml")}, review=("allowances: dynamic-index of k*",)),
    P("lets the configuration allow it", 3, DIRTY, base={"lmemscope.toml": ""},
      head={"lmemscope.toml": '[[allowances]]\nkernel = "k"\ncause = "dynamic-index"\n'
                              'reason = "ours"\n'}, review=("allowances: dynamic-index of k",)),
    P("makes the configuration stricter", 0, CLEAN, base=TOLERANT,
      head={"lmemscope.toml": "tolerance = 0\n"}, unsaid=("weaker",)),
    P("commits a build database", 0, CLEAN, head={"compile_commands.json": "[]\n"},
      review=("compile_commands.json, which says how files are compiled, is new since the",)),
    # Limits.
    P("exceeds a limit as before", 0, project(a=(with_figures(judged("k"), frame=80),)),
      project(a=(with_figures(judged("k"), frame=80),)), flags={"max_registers": 8},
      review=("exceeded at main already",)),
    P("renames a kernel that exceeds a limit", 0, framed("renamed"), framed("k"),
      flags={"max_frame": 8}, review=("exceeded at main already",)),
    P("renames a kernel that exceeds a limit, and adds one", 1, framed("renamed", "added"),
      framed("k"), flags={"max_frame": 8}),
    P("moves an expectation that fails", 0, said_in("\n" + EXPECT + TEXT, framed("k")),
      said_in(EXPECT + TEXT, framed("k")), base={"a.cu": EXPECT + TEXT},
      head={"a.cu": "\n" + EXPECT + TEXT}, review=("exceeded at main already",)),
    # What is accepted or not seen, and still new.
    P("adds what an old allowance is wide enough for", 0, project(a=(found("k"), found("k_new"))),
      DIRTY, base=ALLOWING, review=("new since main, and accepted: k_new (a.cu, sm_90)",)),
    P("touches what an old allowance accepts", 0, DIRTY, DIRTY, base=ALLOWING,
      unsaid=("new since main",)),
    P("lets grow what an old allowance accepts", 0, GROWN, DIRTY, base=ALLOWING,
      review=("new since main, and accepted: k (a.cu, sm_90): dynamic-index `table`, 96 bytes",)),
    P("edits what nobody saw before either", 0,
      project(a=(judged("k"),), gaps=(UNRUN,)), project(a=(judged("k"),), gaps=(UNRUN,)),
      review=("not checked, as at main: [run] n.py holds kernels",)),
    P("moves what nobody saw before either", 0, project(a=(judged("k"),), gaps=(unrun("m.py"),)),
      project(a=(judged("k"),), gaps=(unrun("n.py"),)),
      review=("not checked, as at main: m.py: [run] m.py holds kernels",)),
    P("copies what nobody saw before either", 3,
      project(a=(judged("k"),), gaps=(unrun("n.py"), unrun("m.py"))),
      project(a=(judged("k"),), gaps=(unrun("n.py"),)), review=("m.py holds kernels",)),
    P("adds a file that is left out", 0, CLEAN,
      base={"lmemscope.toml": 'exclude = ["vendor/*"]\n'}, head={"vendor/fast.cu": TEXT},
      review=("vendor/fast.cu is new since the merge base with main, and include or exclude",)),
)  # fmt: skip


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def write(checkout: Path, files: Mapping[str, str | Path | None]) -> None:
    for name, text in files.items():
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(text, str):
            path.unlink()
        if isinstance(text, Path):
            path.symlink_to(text)
        elif text is not None:
            path.write_text(text)


def checked(one: PullRequest, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Checked:
    """What `check . --new-since main` answers, where compilers say what is recorded."""
    held = {} if one.known is None else {"lmemscope-baseline.json": baseline.render(one.known)}
    write(checkout, {"a.cu": TEXT, "README": "", **one.base, **held})
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "base")
    claim = {} if one.claimed is None else {"lmemscope-baseline.json": baseline.render(one.claimed)}
    write(checkout, {"README": "touched", **claim, **one.head})
    git(checkout, "add", "-A")

    def known_at(*_: object) -> Report:
        new = _[-1]
        if not isinstance(new, NewOptions):
            return one.before
        new.without(one.command, str(checkout / "a.cu"))
        return one.before if one.without is None else one.without

    monkeypatch.setattr(earlier, "known_at", known_at)
    monkeypatch.setattr(gate, "gathered_analysed", lambda *_, **__: (one.now, ()))
    configuration = from_flags(dict(one.flags))
    file = baseline_for(configuration)
    known_now = file.load() if file is not None else None
    with Session(gate.settings_as(known_now, configuration.settings)) as session:
        since = {"revision" if one.changed else "new_since": "main"}
        asked = gate.Asked(**since, **one.asked)
        return gate.judge(["."], session, configuration, file, known_now, asked)[0]


@pytest.mark.parametrize("one", PULL_REQUESTS, ids=lambda one: one.name)
def test_somebody(one: PullRequest, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = checked(one, checkout, monkeypatch)
    shown = {name: render(answer, name) for name in FORMATS}
    assert answer.result.exit_code == one.code, shown["text"]
    assert json.loads(shown["json"])["exit_code"] == one.code
    for name, objections in OBJECTIONS.items():
        assert objections(shown[name]) == [], name
    for said in one.review:
        assert said in shown["text"]
    edits = [a.reason for a in answer.result.accounts if a.subject == "change"]
    for said in [*edits, *(piece.reason for piece in answer.result.missing)]:
        # GitHub folds details away: what is to be reviewed is seen without opening any.
        seen = re.sub(r"(?s)<details>.*?</details>", "", shown["pr-comment"])
        for name, text in {**shown, "pr-comment": seen}.items():
            assert _plain(said) in _plain(text), name


def _plain(text: str) -> str:
    """The letters and digits of a text, which every format escapes otherwise."""
    return "".join(filter(str.isalnum, html.unescape(text)))


def test_pull_requests_are_many_and_have_names_of_their_own() -> None:
    assert len({one.name for one in PULL_REQUESTS}) == len(PULL_REQUESTS) >= 40
