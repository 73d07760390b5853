"""The surfaces that show features: documents, tools for language models, and the website.

Each works from the declarations of features alone, and imports none of them."""
