"""What rewrites propose for findings, as advice: nothing here compiles."""
