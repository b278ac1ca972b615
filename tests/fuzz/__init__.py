"""Mutated inputs against every reader: `python -m tests.fuzz`; see docs/fuzzing.md."""
