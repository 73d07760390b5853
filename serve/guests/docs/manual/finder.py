"""The search of the documentation: names, titles and descriptions, folded as the names of companies are. Pure.

Everything is gathered when the server starts: a few hundred entries, which a search reads one after the other.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from serve.contract.error_codes import CODES
from serve.guests.docs.manual.french import in_french
from serve.guests.docs.manual.guides import GUIDES
from serve.guests.docs.manual.reference import ManualReference, ValueRow
from shards.codec.folding import fold

MOST_HITS: Final = 30


class ManualEntry(NamedTuple):
    """What can be found: a page or a part of one.

    Attributes:
        kind: `guide`, `route`, `objet`, `champ`, `parametre`, `erreur` or `entete`.
        titles, texts: French and English; texts of the reference may be English alone.
        words: the folded title, and everything that is searched.
    """

    kind: str
    path: str
    titles: tuple[str, str]
    texts: tuple[str, str]
    words: tuple[str, str]


def entries(reference: ManualReference) -> tuple[ManualEntry, ...]:
    """Everything that can be found, pages before their parts."""
    return tuple(_entries(reference))


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


def _entries(reference: ManualReference) -> Iterator[ManualEntry]:
    for guide in GUIDES:
        yield _entry("guide", f"/docs/guides/{guide.slug}", guide.title, guide.summary, guide.slug)
    for one in reference.operations.values():
        more = f"{one.method} {one.path} {one.name}"
        titles, texts = _both(one.summary), _both(one.description)
        yield _entry("route", f"/docs/routes/{one.name}", titles, texts, more)
    for thing in reference.objects.values():
        names = (thing.name, thing.name)
        yield _entry("objet", f"/docs/objets/{thing.name}", names, _both(thing.description))
    for code, error in CODES.items():
        path = f"/docs/guides/erreurs#{code}"
        yield _entry("erreur", path, (code, code), error.meaning, str(error.status))
    for name, description in reference.headers.items():
        yield _entry("entete", f"/docs/guides/http#{name}", (name, name), _both(description))
    yield from _parts(reference)


def _parts(reference: ManualReference) -> Iterator[ManualEntry]:
    """Parameters, once each, and the fields of objects; those of errors are on the page of errors."""
    known = set()
    for one in reference.operations.values():
        for row in (*one.parameters, *one.body):
            if (row.name, row.description) not in known:
                known.add((row.name, row.description))
                yield _part("parametre", f"/docs/routes/{one.name}", row)
    for thing in reference.objects.values():
        if not thing.name.startswith("Erreur"):
            yield from (_part("champ", f"/docs/objets/{thing.name}", row) for row in thing.values)


def _part(kind: str, path: str, row: ValueRow) -> ManualEntry:
    return _entry(kind, f"{path}#{row.name}", (row.name, row.name), _both(row.description))


def _both(english: str) -> tuple[str, str]:
    return in_french(english) or english, english
