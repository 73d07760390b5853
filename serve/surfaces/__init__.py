"""The surfaces that show features: documents, tools for language models, and the website.

Each imports no feature: it reads their declarations through the product.
"""
