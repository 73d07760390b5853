"""The parts of a company's page: key figures by year, its place among its peers.

`key_figures` reads the statements, `peer_ranks` counts the companies of the sector by turnover.
"""
