"""The templates of the HTML page, and what they are given; see `lmemscope.exporters.html`."""
