"""The parts of a company's page: key figures by year, its place among its peers, its description for search engines.

`key_figures` reads the statements, `peer_ranks` counts the companies of the sector by turnover, `linked_data` has the
public fields in the words of schema.org. `opened_records` are those that an account opened this month.
"""
