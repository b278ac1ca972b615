"""From what the user typed to one report: session, plan, execute, assemble."""
