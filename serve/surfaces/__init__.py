"""The surfaces that show features: documents, tools for language models, and the website.

A surface imports no feature: it reads the declarations of features through the product.
"""
