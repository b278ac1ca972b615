"""Write docs/rules/ from the rules' docstrings: python docs/generate_rules.py"""

from __future__ import annotations

import re
from pathlib import Path

from lmemscope.rules import RULES
from lmemscope.rules.base import Rule

LEAD = re.compile(r"^((?:What|How|When) [a-z ]+\.)", re.MULTILINE)
"""How a paragraph of a page says what it answers."""
TARGET = Path(__file__).parent / "rules"


def page(rule: Rule) -> str:
    body = LEAD.sub(r"**\1**", rule.page.partition("\n")[2].strip())
    return f"# {rule.id} {rule.cause}\n\n{rule.title}.\n\n{body}\n"


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    index = ["# Rules", "", "One per cause; `lmemscope rules ID` shows the same pages.", ""]
    index += ["| rule | cause | |", "|---|---|---|"]
    for rule in RULES:
        index.append(f"| {rule.id} | [{rule.cause}]({rule.cause}.md) | {rule.title} |")
        (TARGET / f"{rule.cause}.md").write_text(page(rule))
    (TARGET / "README.md").write_text("\n".join(index) + "\n")


if __name__ == "__main__":
    main()
