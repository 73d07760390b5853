"""The questions: fixed, random, and rare or absurd searches, all drawn from the data.

`question` is the value, `values` a sample of the data; `fixed`, `mix` and `absurd` draw from it.
"""
