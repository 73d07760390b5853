"""The documentation for people: guides, the reference, and a search of both.

The text of a guide is its template, `templates/docs/guides/{slug}.html` of the feature or surface that declares it,
with its title and summary in `texts.csv` there. The search has names, titles and descriptions, folded as the names of
companies are: a few hundred entries, which are gathered when the server starts.
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

MOST_HITS: Final = 30

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
    places = {slug: place for part in parts for slug, place in part.guides.items()}
    texts = feature_texts()
    return {
        slug: Guide(slug, texts[slug, "guide"], texts[slug, "summary"])
        for slug in sorted(places, key=lambda slug: places[slug])
    }


class ManualEntry(NamedTuple):
    """What can be found: a page or a part of one.

    Attributes:
        kind: `guide`, `route`, `objet`, `champ`, `parametre`, `erreur` or `entete`.
        titles, texts: French and English.
        words: the folded title, and everything that is searched.
    """

    kind: str
    path: str
    titles: tuple[str, str]
    texts: tuple[str, str]
    words: tuple[str, str]


class Manual(NamedTuple):
    """The pages of the reference by language, and what the search of the documentation knows."""

    references: Mapping[Lang, ManualReference]
    entries: tuple[ManualEntry, ...]


@cache
def manual(product: Product) -> Manual:
    """The documentation; neither address nor limits of a server are in it, so that there is one for all."""
    languages: tuple[Lang, ...] = get_args(Lang)
    pages = {lang: reference.reference(document.document(product, lang=lang)) for lang in languages}
    return Manual(pages, entries(guides_of(product).values(), pages["fr"], pages["en"]))


# -- the search ---------------------------------------------------------------------------


def entries(
    guides: Iterable[Guide], french: ManualReference, english: ManualReference
) -> tuple[ManualEntry, ...]:
    """Everything that can be found, pages before their parts."""
    return tuple(_entries(guides, french, english))


def find(known: Iterable[ManualEntry], text: str) -> list[ManualEntry]:
    """The entries that have every word of `text`: by name first, then by title, then by description."""
    wanted = fold(text).split()
    if not wanted:
        return []
    found = [one for one in known if all(word in one.words[1] for word in wanted)]
    return sorted(found, key=lambda one: _rank(one, wanted))


def _rank(entry: ManualEntry, wanted: list[str]) -> int:
    """0 for a title that is the text, 1 for one that begins with it, 2 where it has all words, else 3."""
    title, text = entry.words[0], " ".join(wanted)
    if text in title.split("\n"):
        return 0
    if any(one.startswith(text) for one in title.split("\n")):
        return 1
    return 2 if all(word in title for word in wanted) else 3


def _entry(
    kind: str, path: str, titles: tuple[str, str], texts: tuple[str, str], more: str = ""
) -> ManualEntry:
    title = "\n".join(fold(one) for one in titles)
    return ManualEntry(kind, path, titles, texts, (title, fold(" ".join((*titles, *texts, more)))))


def _entries(
    guides: Iterable[Guide], french: ManualReference, english: ManualReference
) -> Iterator[ManualEntry]:
    for guide in guides:
        yield _entry("guide", f"/docs/guides/{guide.slug}", guide.title, guide.summary, guide.slug)
    for fr, en in _pairs(french.operations, english.operations):
        more = f"{en.method} {en.path} {en.name}"
        titles, texts = (fr.summary, en.summary), (fr.description, en.description)
        yield _entry("route", f"/docs/routes/{en.name}", titles, texts, more)
    for thing in _pairs(french.objects, english.objects):
        yield _named_entry("objet", f"/docs/objets/{thing[1].name}", *thing)
    for code, error in CODES.items():
        path = f"/docs/guides/erreurs#{code}"
        yield _entry("erreur", path, (code, code), error.meaning, str(error.status))
    for name, description in english.headers.items():
        texts = (french.headers[name], description)
        yield _entry("entete", f"/docs/guides/http#{name}", (name, name), texts)
    yield from _parts(french, english)


def _parts(french: ManualReference, english: ManualReference) -> Iterator[ManualEntry]:
    """Parameters, once each, and the fields of objects; those of errors are on the page of errors."""
    known = set()
    for fr, en in _pairs(french.operations, english.operations):
        rows = zip((*fr.parameters, *fr.body), (*en.parameters, *en.body), strict=True)
        for of_fr, of_en in rows:
            if (of_en.name, of_en.description) not in known:
                known.add((of_en.name, of_en.description))
                path = f"/docs/routes/{en.name}#{of_en.name}"
                yield _named_entry("parametre", path, of_fr, of_en)
    for thing, known_as in _pairs(french.objects, english.objects):
        if not known_as.name.startswith("Erreur"):
            for row in zip(thing.values, known_as.values, strict=True):
                yield _named_entry("champ", f"/docs/objets/{known_as.name}#{row[1].name}", *row)


def _named_entry(
    kind: str, path: str, french: ValueRow | ObjectPage, english: ValueRow | ObjectPage
) -> ManualEntry:
    """What is known by its name."""
    texts = (french.description, english.description)
    return _entry(kind, path, (english.name, english.name), texts)


def _pairs(french: Mapping[str, P], english: Mapping[str, P]) -> Iterator[tuple[P, P]]:
    """The pages of both languages."""
    return zip(french.values(), english.values(), strict=True)
