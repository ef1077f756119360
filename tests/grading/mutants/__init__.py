"""Plausible wrong answers, one module a chapter.

MUTANTS maps an exercise to its mutants: what is wrong, and the texts of the
worked solution that are replaced to get it wrong.
"""
