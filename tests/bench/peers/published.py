"""Figures of systems that are not measured here, as their papers print them, on their authors' machines and data."""

from __future__ import annotations

PUBLISHED = {
    "Augmented lineage, face recognition (section 7.1)": "FM is up to 371.9 times faster than Rerun, Full up to 497.1 times; "
    "FM stores 90.9 % fewer intermediate tuples than Full",
    "Augmented lineage, string processing (section 7.1)": "FM is 1.6 times faster than Rerun, Full 2.6 times",
    "Augmented lineage, CDA Q9, scale factor 10, one row (section 7.2)": "FM is 12.8 times faster than Rerun, and reduces the "
    "intermediate tuples by 99.6 %",
    "Smoke, TPC-H Q1, Q3, Q10, Q12, scale factor 1 (PVLDB 11(6), section 6.2)": "captures with an overhead of at most 22 %; "
    "the rewriting of Perm and GProM, implemented in its engine, costs up to 22 times that overhead",
    "Perm and GProM (as Smoke's authors tell, section 6)": "two orders of magnitude slower than their rewriting "
    "as Smoke's authors implemented it",
    "Smoke, one group of a group by (section 6.3)": "a lineage query takes mainly about 1 ms",
    "ProvSQL": "the papers cited here print no figure of it",
}
"""System, what it was given, and where it is printed: what it says."""
