"""From a unit to its artefacts, and the store that keeps them."""
