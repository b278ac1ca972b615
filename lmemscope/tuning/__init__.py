"""Assemble one PTX under a series of register caps, and compare spills and occupancy (``tune``)."""
