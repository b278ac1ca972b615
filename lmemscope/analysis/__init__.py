"""From parsed formats to facts, and from facts to causes."""
