"""Stock kept in PostgreSQL, for comparison."""
