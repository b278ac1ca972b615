"""One module per front end: each takes an input to PTX, or to a cubin when that is all there is."""
