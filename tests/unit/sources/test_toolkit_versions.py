"""Sources that ask for their toolkit's version: what two toolkits answer alike is no question."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.sources.toolkit_versions import asked_of_version

HERE, THERE = (13, 5), (13, 0)


def asked(
    tmp_path: Path,
    *texts: str,
    defines: tuple[str, ...] = (),
    there: tuple[int, int] | None = THERE,
) -> str | None:
    files = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.cuh"
        path.write_text(text)
        files.append(str(path))
    found = asked_of_version(files, defines, HERE, there)
    return found.name if found is not None else None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("#if __CUDACC_VER_MINOR__ < 5\n#endif\n", "__CUDACC_VER_MINOR__"),
        (
            "#if __CUDACC_VER_MAJOR__ == 13 && __CUDACC_VER_MINOR__ < 5\n#endif\n",
            "__CUDACC_VER_MINOR__",
        ),
        ("#if defined(X) || CUDART_VERSION >= 13020\n#endif\n", "CUDART_VERSION"),
        ("#if CUDART_VERSION \\\n  >= 13020\n#endif\n", "CUDART_VERSION"),
        ("#define NEW (CUDA_VERSION > 13000)\n", "CUDA_VERSION"),
        ("#define VER CUDART_VERSION\n#if VER > 1\n#endif\n", "CUDART_VERSION"),
        (
            "#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ > 1304\n#endif\n",
            "__CUDACC_VER_MINOR__",
        ),
        ("#if CUDART_VERSION % 13000\n#endif\n", "CUDART_VERSION"),
        ("#if CUDART_VERSION > UNKNOWN_LIMIT\n#endif\n", "CUDART_VERSION"),
        ("#if __CUDACC_VER_BUILD__ == 48\n#endif\n", "__CUDACC_VER_BUILD__"),
        ("#if CUB_VERSION >= 200200\n#endif\n", "CUB_VERSION"),
        ("__device__ float a[CUDART_VERSION / 100];\n", "CUDART_VERSION"),
        ("if constexpr (CUDART_VERSION > 13010) {}\n", "CUDART_VERSION"),
        ("#if __CUDACC_VER_MINOR__\n#endif\n", "__CUDACC_VER_MINOR__"),
        ("#if CUDART_VERSION ? 1 : 0\n#endif\n", "CUDART_VERSION"),
    ],
)
def test_what_the_two_answer_otherwise(text: str, name: str, tmp_path: Path) -> None:
    assert asked(tmp_path, text) == name


@pytest.mark.parametrize(
    "text",
    [
        "#if CUDART_VERSION >= 11000\n#endif\n",
        "#if __CUDACC_VER_MAJOR__ >= 13\n#endif\n",
        "#if !defined(CUDART_VERSION) || CUDART_VERSION < 12000u\n#endif\n",
        "#if (CUDART_VERSION) && !(CUDA_VERSION < 9000)\n#endif\n",
        "#ifdef CUDA_VERSION\n#undef CUDA_VERSION\n#endif\n",
        "#define NEW (CUDA_VERSION >= 11000)\n",
        "if constexpr (CUDART_VERSION >= 11000) {}\n",
        'printf("%d\\n",\n       CUDART_VERSION / 1000);\n',
        "// CUDART_VERSION >= 13020\n",
        "int MY_CUDART_VERSION = 3;\n",
    ],
)
def test_what_the_two_answer_alike(text: str, tmp_path: Path) -> None:
    assert asked(tmp_path, text) is None


def test_numbers_of_a_texts_own_macros_count(tmp_path: Path) -> None:
    text = "#if CUDART_VERSION >= NEEDED\n#endif\n"
    assert asked(tmp_path, text, "#define NEEDED 11070\n") is None
    assert asked(tmp_path, text, "#define NEEDED 13030\n") == "CUDART_VERSION"
    twice = "#ifdef A\n#define NEEDED 11070\n#else\n#define NEEDED 13030\n#endif\n"
    assert asked(tmp_path, text, twice) == "CUDART_VERSION"
    assert asked(tmp_path, text, defines=("NEEDED=13040",)) == "CUDART_VERSION"


def test_of_an_unknown_toolkit_every_question_counts(tmp_path: Path) -> None:
    assert asked(tmp_path, "#if CUDART_VERSION >= 11000\n#endif\n", there=None) == "CUDART_VERSION"
    assert asked(tmp_path, "#ifdef CUDART_VERSION\n#endif\n", there=None) is None


def test_its_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("\n\n#if CUDART_VERSION > 13020\n#endif\n")
    found = asked_of_version([str(path)], (), HERE, THERE)
    assert found is not None
    assert (found.line, found.file) == (3, str(path))
