"""Provenance sketches: which fragments of a source's rows can matter to a result (Niu et al., PVLDB 15(3), "the paper").

Pure: z3 is imported where something is proved, and nothing else outside this package's plans and errors.
"""
