"""A `Report` in, text out: exporters lay out and never decide."""
