"""From layers formats to facts, and from facts to causes."""
