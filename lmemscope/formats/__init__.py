"""Pure parsers: the bytes and texts that the toolchain writes, turned into data."""
