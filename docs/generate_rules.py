"""Write docs/rules/ from the rules' docstrings: python docs/generate_rules.py"""

from __future__ import annotations

from pathlib import Path

from lmemscope.rules import RULES

TARGET = Path(__file__).parent / "rules"


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    index = ["# Rules", "", "One per cause; `lmemscope rules ID` shows the same pages.", ""]
    index += ["| rule | cause | |", "|---|---|---|"]
    for rule in RULES:
        index.append(f"| {rule.id} | [{rule.cause}]({rule.cause}.md) | {rule.title} |")
        body = rule.page.partition("\n")[2].strip()
        text = f"# {rule.id} {rule.cause}\n\n{rule.title}.\n\n{body}\n"
        (TARGET / f"{rule.cause}.md").write_text(text)
    (TARGET / "README.md").write_text("\n".join(index) + "\n")


if __name__ == "__main__":
    main()
