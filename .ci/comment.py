"""Write a comment below a pull request, in place of the one that an earlier run wrote.

``python comment.py MARK FILE``: the comment begins with MARK. Only a comment that begins so, and
that a bot wrote, is replaced: whoever quotes it keeps what they wrote.
(https://docs.github.com/en/rest/issues/comments)
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

_PAGES = 30
_EACH = 100


def _asked(method: str, url: str, body: dict[str, str] | None = None) -> Any:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, method=method)
    request.add_header("Authorization", f"Bearer {os.environ['GITHUB_TOKEN']}")
    request.add_header("Accept", "application/vnd.github+json")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def _earlier(comments: str, mark: str) -> str | None:
    """Address of the comment that an earlier run wrote, or None."""
    for page in range(1, _PAGES + 1):
        found = _asked("GET", f"{comments}?per_page={_EACH}&page={page}")
        for one in found:
            if one["body"].startswith(mark) and one["user"]["type"] == "Bot":
                return str(one["url"])
        if len(found) < _EACH:
            break
    return None


def main(mark: str, file: str) -> int:
    """Post or replace the comment; 1 where GitHub refuses it."""
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    repository = os.environ["GITHUB_REPOSITORY"]
    number = int(os.environ["LMEMSCOPE_PULL_REQUEST"])
    comments = f"{api}/repos/{repository}/issues/{number}/comments"
    with open(file, encoding="utf-8") as stream:
        body = {"body": stream.read()}
    try:
        earlier = _earlier(comments, mark)
        if earlier is None:
            _asked("POST", comments, body)
        else:
            _asked("PATCH", earlier, body)
    except (urllib.error.URLError, TimeoutError) as error:
        print(f"{comments}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
