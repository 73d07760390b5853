"""Measurements of list matching (extensions X5): real names with a documented noise, and absent companies.

`noise.py` and `list_noise.py` are the noise models, `labelled.py` draws lines, each with the company that it means,
`fit.py` fits the weights of `seeds/rapprochement.csv`, `kinds.py` changes names in one way each, `written.csv` has
handwritten lines that nothing was fitted on, and `__main__.py` measures the verdicts. The note of a candidate (0 to 1)
is the probability that it is the company of the line.
"""
