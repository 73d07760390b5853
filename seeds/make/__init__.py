"""Scripts, run by hand, that write tables of `seeds/` and the excerpts in `seeds/raw/` from their origins.

`taux` writes the rates of the European Central Bank, `pays` the names of countries; `excerpts` selects the excerpts
from complete files of registers. The scripts need libraries of the development environment, so they are not in the
wheel.
"""
