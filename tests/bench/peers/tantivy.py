"""tantivy: an inverted index with fast fields, the Rust library below several search servers.

tantivy has no substring search, so the length of `q` decides its query: one to three characters are a term of an n-gram
field; longer texts are a regular expression over the distinct words, and texts with blanks a phrase of such
expressions. Prefixes of identifiers are edge n-grams. tantivy sorts by one fast field and does not define the place of
nulls, so every order is a field of ranks. A phrase with too many expansions is not expressible.
"""

from importlib import metadata
from pathlib import Path
from typing import Any, Final

import tantivy
from tantivy import FieldType, Occur, Query

from shards import query as queries
from shards.codec.folding import fold, fold_id
from tests.bench.peers import sql
from tests.bench.peers.companies import Companies
from tests.bench.peers.peer import NotExpressible
from tests.bench.questions.question import Answer, Question

_GRAM: Final = 3  # the longest n-gram of names, in characters
_PREFIX: Final = 6  # the longest indexed prefix of identifiers
_TERMS: Final = ("iso2", "division", "groupe")  # fields that are compared as a whole
_PLACES: Final = tuple(f"place_{tri}" for tri in queries.ORDERS)  # the rank in each order
_COLUMNS: Final = ["folded", "ident", *_TERMS, "ca_eur", "effectif", "site_web", *_PLACES, "record"]
_HEAP: Final = 1_500_000_000  # bytes of memory of the writer


def version() -> str:
    """The version of the library, for the report."""
    return metadata.version("tantivy")


def load(companies: Companies, path: Path) -> None:
    """Write the index, a document per company, to `path`."""
    path.mkdir()
    index = _register_tokenizers(tantivy.Index(_schema(), path=str(path)))
    writer = index.writer(_HEAP, 2)
    for (
        folded,
        ident,
        *terms,
        ca,
        effectif,
        site,
        rank_1,
        rank_2,
        rank_3,
        rank_4,
        rank_5,
        rank_6,
        rank_7,
        record,
    ) in companies.rows(_COLUMNS):
        document = tantivy.Document()
        document.add_text("gram", folded)
        document.add_text("word", folded)
        document.add_text("ident", ident)
        document.add_text("prefix", ident)
        for field, value in zip(_TERMS, terms, strict=True):
            if value is not None:
                document.add_text(field, value)
        if ca is not None:
            document.add_float("ca_eur", ca)
        if effectif is not None:
            document.add_integer("effectif", effectif)
        document.add_boolean("site_web", site)
        for field, rank in zip(
            _PLACES, (rank_1, rank_2, rank_3, rank_4, rank_5, rank_6, rank_7), strict=True
        ):
            document.add_unsigned(field, rank)
        document.add_bytes("record", record)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


def connect(companies: Companies, path: Path) -> "Tantivy":
    """Open the files that `load` has created."""
    return Tantivy(companies, path)


def _schema() -> Any:
    """The fields of an index."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("gram", tokenizer_name="gram", index_option="basic")
    builder.add_text_field("word", tokenizer_name="word", index_option="position")
    builder.add_text_field("ident", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("prefix", tokenizer_name="prefix", index_option="basic")
    for name in _TERMS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_float_field("ca_eur", fast=True)
    builder.add_integer_field("effectif", fast=True)
    builder.add_boolean_field("site_web", indexed=True)
    for name in _PLACES:
        builder.add_unsigned_field(name, fast=True)
    builder.add_bytes_field("record", stored=True)
    return builder.build()


def _register_tokenizers(index: Any) -> Any:
    """Register the tokenizers that the schema names; return the index."""
    for name, tokenizer in (
        ("gram", tantivy.Tokenizer.ngram(1, _GRAM)),
        ("word", tantivy.Tokenizer.whitespace()),
        ("prefix", tantivy.Tokenizer.ngram(1, _PREFIX, prefix_only=True)),
    ):
        index.register_tokenizer(name, tantivy.TextAnalyzerBuilder(tokenizer).build())
    return index


class Tantivy:
    """The loaded index, as a Peer."""

    def __init__(self, companies: Companies, path: Path) -> None:
        self._companies = companies
        index = _register_tokenizers(tantivy.Index.open(str(path)))
        self._schema, self._searcher = index.schema, index.searcher()

    def search(self, question: Question) -> Answer:
        """The total and the records of the page; `NotExpressible` if Tantivy has no such condition."""
        if sql.coded_filters(question.query) != sql.TRUE:
            raise NotExpressible  # only DuckDB has these columns
        query = self._query(question.query)
        try:
            results = self._searcher.search(
                query,
                question.limit,
                count=True,
                order_by_field=f"place_{question.query.tri}",
                order=tantivy.Order.Asc,
                offset=question.offset,
            )
        except ValueError as error:  # too many words match a part of the phrase
            raise NotExpressible from error
        packed = (self._searcher.doc(address)["record"][0] for _, address in results.hits)
        return Answer(results.count, [self._companies.record(bytes(record)) for record in packed])

    def interrupt(self) -> None:
        """Do nothing: tantivy cannot be interrupted."""

    def close(self) -> None:
        """Do nothing: the index is closed with its last reference."""

    def _query(self, query: queries.Query) -> Any:
        """All conditions of a query; a company must meet each."""
        parts = [
            Query.term_set_query(self._schema, name, list(values))
            for name, values in (("iso2", query.pays), ("division", query.secteurs))
            if values
        ]
        if query.sous_secteurs is not None:
            parts.append(Query.term_set_query(self._schema, "groupe", list(query.sous_secteurs)))
        types = {"ca_eur": FieldType.Float, "effectif": FieldType.Integer}
        parts += [
            self._range(column, types[column], least, most)
            for column, least, most in query.ranges
            if least is not None or most is not None
        ]
        if query.avec_ca:
            parts.append(Query.exists_query("ca_eur"))
        if query.site_web:
            parts.append(Query.term_query(self._schema, "site_web", True))
        if query.q is not None:
            parts.append(self._q_query(query.q))
        if not parts:
            return Query.all_query()
        return Query.boolean_query([(Occur.Must, part) for part in parts])

    def _range(self, name: str, kind: FieldType, least: Any, most: Any) -> Any:
        """The condition on a column with bounds, which are inclusive; None is no bound."""
        return Query.range_query(self._schema, name, kind, least, most)

    def _q_query(self, q: str) -> Any:
        """The condition of `q`: in the name, or at the start of the identifier."""
        folded, prefix = fold(q), fold_id(q)
        if not folded:
            return Query.empty_query()
        return Query.boolean_query([
            (Occur.Should, self._name_query(folded)),
            (Occur.Should, self._identifier_query(prefix)),
        ])  # fmt: skip

    def _name_query(self, folded: str) -> Any:
        """A term for short texts, a regular expression for a word, a phrase of expressions for several words."""
        first_word, *words_between = folded.split(" ")
        if len(folded) <= _GRAM:
            return Query.term_query(self._schema, "gram", folded)
        if not words_between:
            return Query.regex_query(self._schema, "word", f".*{folded}.*")
        *words_between, last_word = words_between
        words = [f".*{first_word}", *words_between, f"{last_word}.*"]
        return Query.regex_phrase_query(self._schema, "word", words)

    def _identifier_query(self, prefix: str) -> Any:
        """The condition on the start of the identifier; a long prefix is a regular expression."""
        if len(prefix) <= _PREFIX:
            return Query.term_query(self._schema, "prefix", prefix)
        return Query.regex_query(self._schema, "ident", f"{prefix}.*")
