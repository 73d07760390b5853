"""Matching of lists: find the company that each line of a customer's list means (extensions X5).

`line.py` has a line and its result. `legal_forms.py` has legal forms, `name_tables.py` abbreviations, numbers and
letters; both read tables of `seeds/`. `candidate_rows.py` finds companies that a line may mean, through the indexes of
searches (compiled: `candidates.py`) and by initials. `name_comparison.py` and `evidence.py` collect the evidence for
and against each company, `verdicts.py` computes notes and a verdict from this evidence and limits verdicts by name
alone, and `matcher.py` runs these steps for a line. `stored_names.py` prepares the names of rows.
"""
