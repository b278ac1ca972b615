"""How well the labelled set is classified: a confusion matrix, and names by confidence.

python benchmarks/labelled.py
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.test_labelled import ARCHS, LABELS, instances


def main() -> None:
    matrix: Counter[tuple[str, str]] = Counter()
    names: Counter[tuple[str, str]] = Counter()
    unattributed = total = 0
    for arch in ARCHS:
        for label in LABELS:
            wanted = {cause for cause, _ in label.expected}
            titles = {name for _, name in label.expected if name}
            for kernel in instances(label, arch):
                facts = kernel.facts
                found = {share.cause for share in facts.causes} or {"clean"}
                for cause in wanted | found:
                    matrix[cause if cause in wanted else "-", cause if cause in found else "-"] += 1
                for item in facts.objects:
                    if item.confidence is not None and item.cause != "promoted":
                        names["right" if item.name in titles else "wrong", item.confidence] += 1
                for share in facts.causes:
                    size = share.sites.load_bytes + share.sites.store_bytes
                    total += size
                    unattributed += size if share.cause == "unattributed" else 0
    print(f"{len(LABELS)} kernels, {', '.join(ARCHS)}")
    print("| labelled | found | kernels |\n|---|---|--:|")
    for (wanted_cause, found_cause), count in sorted(matrix.items()):
        print(f"| {wanted_cause} | {found_cause} | {count} |")
    print("\n| name | confidence | objects |\n|---|---|--:|")
    for (verdict, confidence), count in sorted(names.items()):
        print(f"| {verdict} | {confidence} | {count} |")
    print(f"\nunattributed site bytes: {unattributed} of {total}")


if __name__ == "__main__":
    main()
