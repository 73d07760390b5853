"""Matching of lists: the company that a line of somebody's list means (extensions X5).

`line.py` is a line and an answer. `legal_forms.py` knows legal forms, `name_tables.py` abbreviations, numbers and
letters; all are tables of `seeds/`. `candidate_rows.py` finds companies that a line may mean, through the indexes that
searches use (compiled: `candidates.py`) and by initials. `name_comparison.py` and `evidence.py` say what speaks for and
against each of them, `verdicts.py` makes notes and a verdict of that, also where a name alone is too little, and
`matcher.py` does all of it for a line. `stored_names.py` prepares the names of rows.
"""
