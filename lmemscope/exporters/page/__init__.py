"""Values for the templates of the HTML page; see `lmemscope.exporters.html`."""
