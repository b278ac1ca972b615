"""Pure parsers: turn the bytes and texts that the toolchain writes into data."""
