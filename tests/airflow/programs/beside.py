"""What a program has beside it."""

from __future__ import annotations

HALF = "id div 2 AS half"
