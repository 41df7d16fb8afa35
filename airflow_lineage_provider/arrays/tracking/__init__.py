"""Arrays that numpy computes with as ever, and that remember which cells each result was made from (DSLog's capture, Sec. VII.A)."""
