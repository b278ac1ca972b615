"""Options and configuration: read and checked once, then passed on as frozen settings."""
