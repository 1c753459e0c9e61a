"""The buyers of a run: processes that send calls, and what came of each call."""
