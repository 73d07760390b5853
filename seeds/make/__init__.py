"""Scripts that write tables and excerpts of `seeds/` from their origins, run by hand.

`taux` writes the rates of the European Central Bank, `pays` the names of countries, `excerpts` cuts `raw/` out of
whole files of registers. They need libraries of the development environment, so no wheel has them.
"""
