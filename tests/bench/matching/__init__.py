"""Measures how well lists are matched (extensions X5): real names, a stated noise, companies that are not there.

`noise.py` is the noise model, `labelled.py` draws lines with the company that each means, `fit.py` finds the weights of
`seeds/rapprochement.csv`, `kinds.py` gives names one change each, `written.csv` has lines written by hand that nothing
was fitted on, and `__main__.py` measures the answers.
"""
