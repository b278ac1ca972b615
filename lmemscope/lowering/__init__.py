"""Turn a unit into artefacts (PTX, ptxas report, cubin), and store them for later runs."""
