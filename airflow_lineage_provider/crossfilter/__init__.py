"""Group-bys of one table that filter one another: rows by bar, bars by row, and counts that follow a brush (Smoke, Sec. 6.5.1)."""
