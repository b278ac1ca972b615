"""From what a user gave to units: walking, build databases, planning."""
