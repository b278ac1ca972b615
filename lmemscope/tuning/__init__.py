"""From one PTX to a kernel's frontier of registers, spills and occupancy."""
