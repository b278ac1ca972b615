"""Whether a build's object is the outcome of its command on the sources as they are."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.config.options import Settings
from lmemscope.discover.build_database import read_database
from lmemscope.discover.object_record import Record
from lmemscope.discover.objects import command_doubt, entry_doubt, why_stale, with_objects
from lmemscope.discover.plan import make_units
from lmemscope.discover.walk import Globs, discover
from lmemscope.formats.ninja_log import command_hash
from lmemscope.model import BuiltObject, CompileOptions

SETTINGS = Settings()
OBJECT = "CMakeFiles/k.dir/a.cu.o"
KNOWN = Record(None, reads=("/p/a.cu", "/p/size.h"))


@pytest.mark.parametrize(
    ("record", "made", "times", "state"),
    [
        (KNOWN, 20, {"/p/a.cu": 10, "/p/size.h": 19}, None),
        (KNOWN, 20, {"/p/a.cu": 10, "/p/size.h": 20}, "stale"),
        (KNOWN, 20, {"/p/a.cu": 10, "/p/size.h": 2000}, "stale"),
        (KNOWN, 20, {"/p/a.cu": 10}, "stale"),
        (KNOWN, 200, {"/p/a.cu": 10, "/p/size.h": 11}, "unknown"),
        (replace(KNOWN, since=15), 20, {"/p/a.cu": 10, "/p/size.h": 16}, "stale"),
        (replace(KNOWN, since=15), 20, {"/p/a.cu": 10, "/p/size.h": 14}, None),
        (replace(KNOWN, since=30), 20, {"/p/a.cu": 10, "/p/size.h": 25}, "stale"),
        (replace(KNOWN, written=20), 20, {"/p/a.cu": 10, "/p/size.h": 11}, None),
        (replace(KNOWN, written=19), 20, {"/p/a.cu": 10, "/p/size.h": 11}, "stale"),
        (Record(), 20, {}, "unknown"),
    ],
)
def test_times(record: Record, made: int, times: dict[str, int], state: str | None) -> None:
    doubt = why_stale(record, made, times.get, now=100)
    assert (None if doubt is None else doubt[0]) == state


def test_what_changed_is_named() -> None:
    times = {"/p/a.cu": 10, "/p/size.h": 30}
    assert why_stale(KNOWN, 20, times.get, 100) == ("stale", "/p/size.h has changed since")


@pytest.mark.parametrize(
    ("command", "state"),
    [
        ("nvcc -O3 -c a.cu -o a.o", None),
        ("/usr/local/cuda/bin/nvcc -Xcompiler=-fPIC,-Wall -c a.cu -o a.o", None),
        ("env TZ=UTC nvcc -c a.cu -o a.o", None),
        ("env X=1 nvcc -c a.cu -o a.o", "compiled"),
        ("ccache nvcc -c a.cu -o a.o", "unknown"),
        ("env sccache nvcc -c a.cu -o a.o", "unknown"),
        ("cmake -E __run_co_compile --launcher=ccache -- nvcc -c a.cu -o a.o", "unknown"),
        ("clang++ -x cuda -c a.cu -o a.o", "unknown"),
        ("nvcc_wrapper -c a.cu -o a.o", "unknown"),
        ("nvcc -rdc=true -c a.cu -o a.o", "compiled"),
        ("nvcc -dc a.cu -o a.o", "compiled"),
        ("nvcc -dlto -c a.cu -o a.o", "compiled"),
        ("nvcc -G -c a.cu -o a.o", "compiled"),
        ("nvcc -Xptxas -g -c a.cu -o a.o", "compiled"),
        ("nvcc -Xcicc -O1 -c a.cu -o a.o", "compiled"),
        ("nvcc -ccbin /opt/other/g++ -c a.cu -o a.o", None),
        ("nvcc -ccbin /opt/other/clang++ -c a.cu -o a.o", "compiled"),
        ("nvcc -ccbin /opt/other/g++ -c asks.cu -o a.o", None),
        ("nvcc --entries=one -c a.cu -o a.o", "compiled"),
    ],
)
def test_commands(tmp_path: Path, command: str, state: str | None) -> None:
    (tmp_path / "a.cu").write_text("")
    (tmp_path / "asks.cu").write_text("#if __GNUC__ > 12\n#endif\n")
    file = "asks.cu" if "asks.cu" in command else "a.cu"
    record = {"directory": str(tmp_path), "file": file, "command": command}
    (tmp_path / "compile_commands.json").write_text(json.dumps([record]))
    (entry,) = read_database(str(tmp_path / "compile_commands.json")).entries
    assert entry.command.object == str(tmp_path / "a.o")
    doubt = entry_doubt(entry)
    assert (None if doubt is None else doubt[0]) == state


def test_a_cache_under_the_compilers_name(tmp_path: Path) -> None:
    for name in ("ccache", "a.cu"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "nvcc").symlink_to("ccache")
    record = {"directory": str(tmp_path), "file": "a.cu", "command": "./nvcc -c a.cu -o a.o"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([record]))
    (entry,) = read_database(str(tmp_path / "compile_commands.json")).entries
    assert entry_doubt(entry) == ("unknown", "it was made by ccache")


@pytest.mark.parametrize(
    ("settings", "environment", "is_doubted"),
    [
        (Settings(), (), False),
        (Settings(options=CompileOptions(time_limit=5.0, max_file_size=9)), ("PATH",), False),
        (Settings(options=CompileOptions(defines=("N=1",))), (), True),
        (Settings(options=CompileOptions(instantiate=("k<1>",))), (), True),
        (Settings(options=CompileOptions(nvcc_args=("-O1",))), (), True),
        (Settings(frontend="nvrtc"), (), True),
        (Settings(), ("NVCC_APPEND_FLAGS",), True),
    ],
)
def test_what_is_asked_for_beside_the_build(
    settings: Settings, environment: tuple[str, ...], is_doubted: bool
) -> None:
    assert (command_doubt(settings, environment) is not None) == is_doubted


class Build:
    """A build directory as ninja, or CMake's Makefiles, leave it after one compilation."""

    def __init__(self, root: Path) -> None:
        self.root, self.build = root, root / "build"
        self.object = self.build / OBJECT
        self.object.parent.mkdir(parents=True)
        for name, text in (("a.cu", '#include "size.h"\n'), ("size.h", ""), ("other.h", "")):
            (root / name).write_text(text)
        self.words = f"nvcc -O3 -DN=1 -c {root}/a.cu -o {OBJECT}"
        self.made_by = f"nvcc -O3 -DN=1 -MD -MF {OBJECT}.d -c {root}/a.cu -o {OBJECT}"
        record = {"directory": str(self.build), "file": f"{root}/a.cu", "command": self.words}
        self.database = self.build / "compile_commands.json"
        self.database.write_text(json.dumps([record]))
        time.sleep(0.02)

    def with_ninja(self, version: int = 5, command: str | None = None, late: int = 0) -> Build:
        """Let ninja have built it, by a command and some ns before the object's time."""
        (self.build / "build.ninja").write_text(
            f"rule CUDA\n  command = nvcc $FLAGS -MD -MF $out.d -c $in -o $out\n"
            f"build {OBJECT}: CUDA {self.root}/a.cu\n  FLAGS = -O3 -DN=1\n"
        )
        made = self.write_object()
        hashed = command_hash(command or self.made_by, version) or 0
        line = f"1\t2\t{made - late}\t{OBJECT}\t{hashed:x}\n"
        (self.build / ".ninja_log").write_text(f"# ninja log v{version}\n{line}")
        paths = (OBJECT, f"{self.root}/a.cu", "../other.h")
        written = b"# ninjadeps\n" + struct.pack("<i", 4)
        for number, path in enumerate(paths):
            name = path.encode() + b"\0" * (-len(path) % 4)
            written += struct.pack("<I", len(name) + 4) + name + struct.pack("<i", ~number)
        written += struct.pack("<Iiqii", 20 | 1 << 31, 0, made, 1, 2)
        (self.build / ".ninja_deps").write_bytes(written)
        return self

    def with_makefiles(self) -> Build:
        """Let CMake's Makefiles have built it."""
        target = self.build / "CMakeFiles" / "k.dir"
        (target / "flags.make").write_text("CUDA_FLAGS = -O3 -DN=1\n")
        recipe = self.made_by.replace("-O3 -DN=1", "$(CUDA_FLAGS)")
        (target / "build.make").write_text(f"{OBJECT}: a.cu\n\t{recipe}\n")
        (self.build / f"{OBJECT}.d").write_text(f"{OBJECT}: {self.root}/a.cu \\\r\n ../other.h\r\n")
        time.sleep(0.02)
        self.write_object()
        return self

    def write_object(self) -> int:
        """Write it; its time in ns."""
        self.object.write_bytes(b"\x7fELF")
        return self.object.stat().st_mtime_ns

    def judged(self, settings: Settings = SETTINGS) -> BuiltObject | None:
        found = discover([str(self.build)], Globs(str(self.root)))
        units, _ = make_units(found.inputs, ("sm_90",), settings)
        (unit,) = with_objects(units, found.inputs, settings)
        return unit.built

    def state(self) -> str | None:
        built = self.judged()
        return None if built is None else built.state


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path / "project")


class TestNinja:
    @pytest.mark.parametrize("version", [5, 6, 7])
    def test_what_is_up_to_date_is_current(self, build: Build, version: int) -> None:
        built = build.with_ninja(version).judged()
        assert built == BuiltObject(str(build.object))

    @pytest.mark.parametrize("name", ["a.cu", "size.h", "other.h"])
    def test_a_file_that_changed(self, build: Build, name: str) -> None:
        """The includes of the text count, and those that ninja noted."""
        build.with_ninja()
        (build.root / name).write_text("// changed\n")
        built = build.judged()
        assert built is not None
        assert built.state == "stale"
        assert name in (built.reason or "")

    def test_a_copy_that_keeps_an_old_time(self, build: Build) -> None:
        build.with_ninja()
        os.utime(build.root / "size.h", ns=(10**9, 10**9))
        assert build.state() == "stale"

    def test_a_file_that_changed_while_it_was_compiled(self, build: Build) -> None:
        assert build.with_ninja(7, late=60 * 10**9).state() == "stale"

    def test_another_command(self, build: Build) -> None:
        assert build.with_ninja(command=f"{build.made_by} -DM").state() == "stale"

    def test_another_command_in_the_database(self, build: Build) -> None:
        build.with_ninja()
        build.database.write_text(build.database.read_text().replace("-DN=1", "-DN=2"))
        assert build.state() == "unknown"

    def test_an_object_that_was_replaced(self, build: Build) -> None:
        build.with_ninja()
        time.sleep(0.02)
        build.object.write_bytes(b"\x7fELF forged")
        assert build.state() == "stale"

    @pytest.mark.parametrize("name", [".ninja_log", ".ninja_deps"])
    @pytest.mark.parametrize("is_there", [True, False])
    def test_no_record(self, build: Build, name: str, is_there: bool) -> None:
        build.with_ninja()
        (build.build / name).unlink()
        if is_there:
            (build.build / name).write_bytes(b"")
        assert build.state() == "unknown"

    @pytest.mark.parametrize("text", ["include build.ninja.gone\n", "DEEP"])
    def test_a_build_file_that_cannot_be_read(self, build: Build, text: str) -> None:
        build.with_ninja()
        deep = "\n".join(f"  v{n} = $v{n + 1}" for n in range(20_000))
        text = text.replace("DEEP", f"rule CUDA\n  command = $v0\n{deep}\n")
        file = build.build / "build.ninja"
        file.write_text(f"{file.read_text()}{text}")
        assert build.state() == "unknown"

    def test_what_is_not_built_has_none(self, build: Build) -> None:
        build.with_ninja().object.unlink()
        assert build.judged() is None

    def test_nobody_asks(self, build: Build) -> None:
        build.with_ninja()
        assert build.judged(Settings(objects=False)) is None
        assert build.judged(Settings(linked=True)) is None

    def test_a_source_that_says_when_it_is_compiled(self, build: Build) -> None:
        (build.root / "a.cu").write_text("const char *t = __TIME__;\n")
        time.sleep(0.02)
        assert build.with_ninja().state() == "unknown"


class TestMakefiles:
    def test_what_is_up_to_date_is_current(self, build: Build) -> None:
        assert build.with_makefiles().judged() == BuiltObject(str(build.object))

    @pytest.mark.parametrize("name", ["a.cu", "size.h", "other.h"])
    def test_a_file_that_changed(self, build: Build, name: str) -> None:
        build.with_makefiles()
        (build.root / name).write_text("// changed\n")
        assert build.state() == "stale"

    @pytest.mark.parametrize("name", ["flags.make", "build.make"])
    def test_a_command_that_was_written_again(self, build: Build, name: str) -> None:
        build.with_makefiles()
        os.utime(build.build / "CMakeFiles" / "k.dir" / name)
        assert build.state() == "stale"

    def test_other_flags_than_the_database_has(self, build: Build) -> None:
        (build.build / "CMakeFiles" / "k.dir").mkdir(exist_ok=True)
        build.made_by = build.made_by.replace("-O3", "-O2")
        assert build.with_makefiles().state() == "unknown"

    def test_a_database_alone(self, build: Build) -> None:
        """As Bear writes it for a Makefile."""
        build.write_object()
        assert build.state() == "unknown"


class TestGit:
    def commit(self, build: Build, *names: str) -> None:
        for arguments in (["init", "-q"], ["add", "-f", *names]):
            subprocess.run(["git", *arguments], cwd=build.root, check=True)

    def test_what_is_not_committed_is_current(self, build: Build) -> None:
        build.with_ninja()
        self.commit(build, "a.cu")
        # The checkout's own time is newer than the sources'.
        assert build.state() == "current"

    def test_what_is_committed_is_no_evidence(self, build: Build) -> None:
        build.with_ninja()
        self.commit(build, f"build/{OBJECT}")
        assert build.state() == "unknown"

    def test_a_committed_link_to_it(self, build: Build, tmp_path: Path) -> None:
        build.with_ninja()
        kept = tmp_path / "kept"
        (build.build / "CMakeFiles").rename(kept)
        (build.build / "CMakeFiles").symlink_to(kept)
        self.commit(build, "build/CMakeFiles")
        assert build.state() == "unknown"

    def test_an_index_that_cannot_be_read(self, build: Build) -> None:
        build.with_ninja()
        self.commit(build, "a.cu")
        (build.root / ".git" / "index").write_bytes(b"damaged")
        assert build.state() == "unknown"
