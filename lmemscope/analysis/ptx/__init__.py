"""Control flow, data flow, slices and uniformity of PTX."""
