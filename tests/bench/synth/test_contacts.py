"""Websites, e-mail addresses and telephone numbers."""

import polars as pl


def test_contacts_are_of_the_name(companies: pl.DataFrame) -> None:
    sites = companies.filter(pl.col("site_web").is_not_null())
    label = sites["site_web"].str.extract(r"^(?:https?://)?(?:www\.)?([a-z0-9]+)\.[a-z.]+$")
    bare = sites["nom"].str.to_lowercase().str.replace_all(r"[^a-z0-9]", "")

    assert label.null_count() == 0
    ascii_names = sites["nom"].str.contains(r"^[ -~]+$")
    pairs = zip(label.filter(ascii_names), bare.filter(ascii_names), strict=True)
    assert all(part[:12] in whole for part, whole in pairs)
    given = sites.filter(pl.col("domaine").is_not_null())
    assert given.select(pl.col("site_web").str.ends_with(pl.col("domaine")).all()).item()
