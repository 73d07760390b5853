"""The documentation for people: guides, the reference, and a search over guides and reference.

The text of a guide is its template, `templates/docs/guides/{slug}.html` of the feature or surface that declares it,
with its title and summary in `texts.csv` there. The search looks in names, titles and descriptions, folded like the
names of companies: a few hundred entries, collected when the server starts.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple, TypeVar, get_args

from serve.contract.errors import CODES
from serve.contract.feature import Product
from serve.contract.text import Lang, Text, feature_texts
from serve.surfaces.docs import document, reference
from serve.surfaces.docs.reference import ManualReference, ObjectPage, ValueRow
from shards.codec.folding import fold

MOST_HITS: Final = 30  # hits that the page of a search lists

# A page or an object of the reference.
P = TypeVar("P")


class Guide(NamedTuple):
    """A guide at /docs/guides/{slug}."""

    slug: str
    title: Text
    summary: Text


@cache
def guides_of(product: Product) -> dict[str, Guide]:
    """The guides of a product by slug, in their order."""
    parts = (*product.features, *product.surfaces)
    positions = {slug: position for part in parts for slug, position in part.guides.items()}
    texts = feature_texts()
    return {
        slug: Guide(slug, texts[slug, "guide"], texts[slug, "summary"])
        for slug in sorted(positions, key=lambda slug: positions[slug])
    }


class ManualEntry(NamedTuple):
    """An entry of the search: a page or a part of a page.

    Attributes:
        kind: `guide`, `route`, `objet`, `champ`, `parametre`, `erreur` or `entete`.
        titles, texts: French and English.
        words: the folded titles, and the folded text of all titles and texts, which the search compares.
    """

    kind: str
    path: str
    titles: tuple[str, str]
    texts: tuple[str, str]
    words: tuple[str, str]


class Manual(NamedTuple):
    """The pages of the reference by language, and the entries of the search."""

    references: Mapping[Lang, ManualReference]
    entries: tuple[ManualEntry, ...]


@cache
def manual(product: Product) -> Manual:
    """The documentation, which does not depend on the address or the limits of a server."""
    languages: tuple[Lang, ...] = get_args(Lang)
    pages = {lang: reference.reference(document.document(product, lang=lang)) for lang in languages}
    return Manual(pages, entries(guides_of(product).values(), pages["fr"], pages["en"]))


# -- the search ---------------------------------------------------------------------------


def entries(
    guides: Iterable[Guide], french: ManualReference, english: ManualReference
) -> tuple[ManualEntry, ...]:
    """The entries of the search, pages before their parts."""
    return tuple(_all_entries(guides, french, english))


def find(manual_entries: Iterable[ManualEntry], text: str) -> list[ManualEntry]:
    """Entries with every word of `text`: matches of a complete title first, then in titles, then in descriptions."""
    words = fold(text).split()
    if not words:
        return []
    # `words[0]` of an entry is its folded titles, `words[1]` all its folded texts.
    hits = [entry for entry in manual_entries if all(word in entry.words[1] for word in words)]
    return sorted(hits, key=lambda entry: _rank(entry, words))


def _rank(entry: ManualEntry, words: list[str]) -> int:
    """0 if a title is the text, 1 if a title begins with it, 2 if the titles have all words, else 3."""
    title, text = entry.words[0], " ".join(words)
    if text in title.split("\n"):
        return 0
    if any(line.startswith(text) for line in title.split("\n")):
        return 1
    return 2 if all(word in title for word in words) else 3


def _make_entry(
    kind: str, path: str, titles: tuple[str, str], texts: tuple[str, str], hidden_text: str = ""
) -> ManualEntry:
    """An entry of the search; `hidden_text` is searched too, but not shown."""
    title = "\n".join(fold(title) for title in titles)
    return ManualEntry(
        kind, path, titles, texts, (title, fold(" ".join((*titles, *texts, hidden_text))))
    )


def _all_entries(
    guides: Iterable[Guide], french: ManualReference, english: ManualReference
) -> Iterator[ManualEntry]:
    """The entries of guides, operations, objects, errors and headers, then of parameters and fields."""
    for guide in guides:
        yield _make_entry(
            "guide", f"/docs/guides/{guide.slug}", guide.title, guide.summary, guide.slug
        )
    for french_page, english_page in _translated_pairs(french.operations, english.operations):
        hidden_text = f"{english_page.method} {english_page.path} {english_page.name}"
        titles, texts = (
            (french_page.summary, english_page.summary),
            (french_page.description, english_page.description),
        )
        yield _make_entry("route", f"/docs/routes/{english_page.name}", titles, texts, hidden_text)
    for object_pair in _translated_pairs(french.objects, english.objects):
        yield _name_entry("objet", f"/docs/objets/{object_pair[1].name}", *object_pair)
    for code, error in CODES.items():
        path = f"/docs/guides/erreurs#{code}"
        yield _make_entry("erreur", path, (code, code), error.meaning, str(error.status))
    for name, description in english.headers.items():
        texts = (french.headers[name], description)
        yield _make_entry("entete", f"/docs/guides/http#{name}", (name, name), texts)
    yield from _part_entries(french, english)


def _part_entries(french: ManualReference, english: ManualReference) -> Iterator[ManualEntry]:
    """The entries of parameters, each once, and of fields; errors have their own page, so their fields are left out."""
    yielded = set()
    for french_page, english_page in _translated_pairs(french.operations, english.operations):
        rows = zip(
            (*french_page.parameters, *french_page.body),
            (*english_page.parameters, *english_page.body),
            strict=True,
        )
        for french_row, english_row in rows:
            if (english_row.name, english_row.description) not in yielded:
                yielded.add((english_row.name, english_row.description))
                path = f"/docs/routes/{english_page.name}#{english_row.name}"
                yield _name_entry("parametre", path, french_row, english_row)
    for french_object, english_object in _translated_pairs(french.objects, english.objects):
        if not english_object.name.startswith("Erreur"):
            for row_pair in zip(french_object.values, english_object.values, strict=True):
                yield _name_entry(
                    "champ", f"/docs/objets/{english_object.name}#{row_pair[1].name}", *row_pair
                )


def _name_entry(
    kind: str, path: str, french: ValueRow | ObjectPage, english: ValueRow | ObjectPage
) -> ManualEntry:
    """An entry whose title is the name of an object or of a value, the same in both languages."""
    texts = (french.description, english.description)
    return _make_entry(kind, path, (english.name, english.name), texts)


def _translated_pairs(french: Mapping[str, P], english: Mapping[str, P]) -> Iterator[tuple[P, P]]:
    """Each French page (a value of `french`) with the same page in English; both documents have the same order."""
    return zip(french.values(), english.values(), strict=True)
