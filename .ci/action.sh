#!/usr/bin/env bash
# What action.yml does once lmemscope is installed: check, annotate, write SARIF, comment.
#
# The names of files are whoever's opened the pull request: none becomes an argument.
set -uo pipefail

set -f
arguments=(${LMEMSCOPE_ARGUMENTS:-})
set +f

if [ -n "${LMEMSCOPE_BASE:-}" ]; then
    # A checkout has the newest commit only. A merge base needs what lies between, at most all.
    if ! git merge-base "$LMEMSCOPE_BASE" HEAD >/dev/null 2>&1; then
        git fetch --quiet --no-tags --deepen=50 origin "$LMEMSCOPE_BASE" HEAD 2>/dev/null || true
    fi
    if ! git merge-base "$LMEMSCOPE_BASE" HEAD >/dev/null 2>&1; then
        git fetch --quiet --no-tags --unshallow origin 2>/dev/null || true
    fi
    arguments+=(--new-since "$LMEMSCOPE_BASE")
fi

# Each further format reads what the first run has kept. A format that fails to be written must not
# pass for the answer, which is the first run's.
lmemscope check "${arguments[@]}" -- $LMEMSCOPE_PATHS
answer=$?

if [ -n "${LMEMSCOPE_SARIF:-}" ]; then
    lmemscope check "${arguments[@]}" --format sarif -o "$LMEMSCOPE_SARIF" -- $LMEMSCOPE_PATHS \
        >/dev/null || [ -s "$LMEMSCOPE_SARIF" ] || echo "::warning::lmemscope: no SARIF was written"
fi

[ -n "${LMEMSCOPE_PULL_REQUEST:-}" ] || exit "$answer"

comment=$(mktemp)
lmemscope check "${arguments[@]}" --format pr-comment -- $LMEMSCOPE_PATHS >"$comment.body" 2>/dev/null
if [ ! -s "$comment.body" ]; then
    exit "$answer"
fi
key=${LMEMSCOPE_COMMENT_KEY:-check}
key=${key//[^A-Za-z0-9.-]/}
mark="<!-- lmemscope $key -->"
{ echo "$mark"; tail -n +2 "$comment.body"; } >"$comment"
[ -z "${GITHUB_OUTPUT:-}" ] || echo "comment-file=$comment" >>"$GITHUB_OUTPUT"

if [ "${LMEMSCOPE_COMMENT:-false}" = true ]; then
    python "$(dirname "$0")/comment.py" "$mark" "$comment" ||
        echo "::notice::lmemscope: the comment could not be written; the step's summary says the same"
fi
exit "$answer"
