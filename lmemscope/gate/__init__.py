"""The gate: a report against limits, a baseline, allowances and expectations."""
