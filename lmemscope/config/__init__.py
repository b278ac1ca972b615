"""What a command was asked to do: read once, checked once, then passed on frozen."""
