"""Figures of systems that are not measured here, as their papers and documents print them, on their authors' machines and data."""

from __future__ import annotations

PUBLISHED = {
    "Augmented lineage, face recognition (section 7.1)": "FM is up to 371.9 times faster than Rerun, Full up to 497.1 times; "
    "FM stores 90.9 % fewer intermediate tuples than Full",
    "Augmented lineage, string processing (section 7.1)": "FM is 1.6 times faster than Rerun, Full 2.6 times",
    "Augmented lineage, CDA Q9, scale factor 10, one row (section 7.2)": "FM is 12.8 times faster than Rerun, and reduces the "
    "intermediate tuples by 99.6 % (its queries are numbered from 1 to 10: the ninth is TPC-H's Q20)",
    "Smoke, TPC-H Q1, Q3, Q10, Q12, scale factor 1 (PVLDB 11(6), section 6.2)": "captures with an overhead of at most 22 %; "
    "the rewriting of Perm and GProM, implemented in its engine, costs up to 22 times that overhead",
    "Perm and GProM (as Smoke's authors tell, section 6)": "two orders of magnitude slower than their rewriting "
    "as Smoke's authors implemented it",
    "Smoke, one group of a group by (section 6.3)": "a lineage query takes mainly about 1 ms",
    "Smoke, crossfilter over the Ontime flights (section 6.5.1)": "the first group-bys, their lineage and 8,100 interactions take 30 s "
    "in all; all interactions but 5 take less than 150 ms",
    "PBDS, TPC-H in PostgreSQL (section 9.2)": "Q3 through a sketch of 400 fragments takes about a 40th of the time; capturing a "
    "sketch costs less than 100 % of the query, of some less than 20 %, with up to 10,000 fragments",
    "PBDS, TPC-H in a commercial system, scale factor 10 (section 9.2)": "queries through sketches are 2 to 4.6 times faster with zone "
    "maps, 2 to 37 times with range partitions",
    "PBDS, Stack Overflow in PostgreSQL (sections 9.3, 9.4)": "queries through sketches of 10,000 fragments take 96.9 to 98.85 % less; "
    "a workload of 800 queries, capture included, is about 3 times faster; a safety or reuse check takes about 20 ms",
    "DSLog, arrays of a million cells (section VII)": "ProvRC is up to 2,000 times smaller than the next best columnar format; lineage "
    "partly regular takes less than 0.3 % of the raw relation",
    "DSLog, queries over workflows (section VII)": "up to 1,500 times faster than the next best format, on random numpy pipelines up to "
    "20 times; 99 of 136 numpy operations are reused whatever the input",
    "Forward lineage by roBDDs, queries with aggregation": "capture costs 387 % of the query on average, 74 % without Q11; with plain sets "
    "7.96 times that, with reverse queries for every row 19.44 times",
    "Forward lineage by sets, queries without aggregation": "capture costs 1.7 % on average; reverse queries cost 325 % for every row, "
    "82 % for one",
    "ProvSQL 1.13, tracking cost (the README of its own benchmark, pgxn.org/dist/provsql/1.13.0)": "typical queries over tables of 100,000 "
    "rows take 15 to 45 times as long as the plain query, 100 to 300 times before that release",
    "GProM, its optimizer (arXiv 1701.05513, abstract)": "queries for provenance are often several orders of magnitude faster than "
    "without it; the abstract does not say what they cost beside the plain query",
}
"""System, what it was given, and where it is printed: what it says."""
