"""The gate: check a report against limits, a baseline, allowances and expectations."""
