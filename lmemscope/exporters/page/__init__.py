"""The parts of the HTML page; `lmemscope.exporters.html` puts them together."""
