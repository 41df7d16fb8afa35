"""Tracked data frames: tables whose rows and columns are followed through what pandas does with them."""
