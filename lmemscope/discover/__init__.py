"""Find inputs from what the user typed: walk directories, read build databases, plan units."""
