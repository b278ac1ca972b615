"""The documentation as a site: ``sphinx-build -W -c docs/site . build/site``.

The source directory is the repository, so that every link between pages, and to files, is written
as GitHub reads it and holds in both places. README.md is the front page.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from lmemscope import __version__  # noqa: E402

project = "lmemscope"
author = "The lmemscope authors"
project_copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**.md"]
nitpicky = False

myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_use_ivar = True
# Docstrings mark code with single backquotes.
default_role = "literal"
maximum_signature_line_length = 70
add_module_names = False

html_theme = "furo"
html_title = f"lmemscope {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
toc_object_entries_show_parents = "hide"
html_copy_source = False
html_show_sphinx = False
templates_path = ["templates"]
html_additional_pages = {"index": "redirect.html"}
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"

CONTENTS = """
```{toctree}
:hidden:
:caption: Use

docs/usage
docs/binaries
docs/inputs
docs/fix
docs/rewrites
docs/tune
docs/measure
docs/ci
docs/builds
docs/real-projects
docs/python
docs/linked
docs/reservation
docs/configuration
docs/security
docs/installing
docs/rules/README
docs/questions/README
```

```{toctree}
:hidden:
:caption: Understand

docs/local-memory
docs/how-it-works
docs/truth
docs/performance
docs/fuzzing
```

```{toctree}
:hidden:
:caption: Refer

docs/site/api
docs/json
CONTRIBUTING
SECURITY
CHANGELOG
```
"""
"""What the site has beside README's own text: GitHub would show it as code."""


def read(app: Any, name: str, source: list[str]) -> None:
    """Give the pages that only list others their contents, and commands without ``$`` a language.

    GitHub shows a console's commands alike with and without a prompt; Pygments takes those
    without one for output.
    """
    source[0] = re.sub(r"^```console\n(?!\$ )", "```bash\n", source[0], flags=re.MULTILINE)
    if name == root_doc:
        source[0] += CONTENTS
    elif name in ("docs/rules/README", "docs/questions/README"):
        pages = re.findall(r"\]\(([\w-]+)\.md\)", source[0])
        listed = "\n".join(dict.fromkeys(pages))
        source[0] += f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read)
