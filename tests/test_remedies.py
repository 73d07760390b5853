"""Every error that reaches a user has a remedy: in the tables of texts, and in the messages of commands."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from serve.contract import errors
from serve.contract.errors import MESSAGES

ROOT: Final = Path(errors.__file__).parents[2]
# Parts of a message that has its remedy in another part, and messages whose remedy is a fact.
PARTS: Final = {
    "paiement", "devis", "comptes", "exports", "paiement_indisponible", "paiement_sans_effet", "valeur_comme",
    "chaine_de_requete", "en_tete", "la_requete", "proches", "pays_endommage", "sans_generation", "magasin_ferme",
    "en_lecture", "sans_compteurs", "sans_modifications", "sans_place", "sans_fichier", "trop_de_chiffres",
    "trop_de_connexions", "appels_par_jour", "appels_par_minute", "credits_par_mois", "exports_par_mois",
    "parametres_admis", "recherche", "offre_la_plus_haute", "exports_a_venir", "outil_necessaire",
}  # fmt: skip

# A value that lists the allowed values or is a remedy; the path of a page or route that helps; a command.
_POINTER: Final = r"\{(?:known|remedy|allowed|routes|types|wanted|why|fault|refusal|offre|shown_2)(?:!r)?\}|/[a-z]|`"
# A French remedy has a verb in the imperative (`-ez`).
FRENCH: Final = re.compile(rf"\b(?!(?:avez|chez|assez)\b)\w+ez\b|il faut|{_POINTER}")
_VERBS: Final = (
    "add ask begin build call cast check choose compact correct create delete download drop "
    "encode exchange fetch give go import install invite join keep leave look make mend mount move "
    "name omit open pip put raise read rebuild reload remove rename repeat report restore retry "
    "return revoke run save see send set shorten sort spread start stop swap take try use verify "
    "wait write"
)
ENGLISH: Final = re.compile(
    rf"(?:^|[;:.,?(] |\b(?:or|and|else|please) )(?:{'|'.join(_VERBS.split())})\b"
    rf"|known: |there are |is needed| --[a-z]|{_POINTER}",
    re.IGNORECASE,
)

# The errors whose text ends a command. Temporary errors of mirrors (FaultError, AbsentError) get their remedy where the
# mirror gives up; FilingError is a reason in a report.
COMMAND_ERRORS: Final = frozenset({
    "ArgumentTypeError", "BuildError", "ConfigError", "CorruptError", "DeclarationError", "FetchError", "FormulaError",
    "GenerationError", "ImplausibleError", "InputError", "MakingError", "NightlyConfigError", "NotAllowedError",
    "ObjectionsError", "OutOfOrderError", "StoreUnavailable", "WorkersError",
    "PlansError", "PortError", "SeedError", "SyncError", "UnknownError", "WrongFormatError", "WrongStoreError",
    "error",  # of argparse
})  # fmt: skip


@pytest.mark.parametrize("name", sorted(MESSAGES.keys() - PARTS))
def test_a_text_of_an_error_has_a_remedy_in_both_languages(name: str) -> None:
    text = MESSAGES[name].text

    assert FRENCH.search(text.fr)
    assert ENGLISH.search(text.en)


def test_every_listed_part_is_a_message() -> None:
    assert PARTS - MESSAGES.keys() == set()


def test_a_message_of_a_command_has_a_remedy() -> None:
    without_remedy = []
    for room in ("pipeline", "quota", "serve", "shards", "seeds"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for line, text in _messages(ast.parse(path.read_text(encoding="utf-8"))):
                if not ENGLISH.search(text):
                    without_remedy.append(f"{path.relative_to(ROOT)}:{line}: {text}")

    assert without_remedy == []


def test_texts_of_errors_are_only_in_the_tables() -> None:
    """A pair of texts in a module with errors would escape the tests above."""
    pairs = []
    for path in sorted((ROOT / "serve").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        # Titles of pages and mails are not errors.
        if path.name in ("render.py", "outbox.py") or not _imports_errors(tree):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Tuple) and len(node.elts) == 2 and _is_pair(node):
                pairs.append(f"{path.relative_to(ROOT)}:{node.lineno}")

    assert pairs == []


def _imports_errors(tree: ast.AST) -> bool:
    """Whether a module imports something named `errors`."""
    return any(
        isinstance(node, ast.ImportFrom)
        and "errors" in (node.module, *(alias.name for alias in node.names))
        for node in ast.walk(tree)
    )


def _is_pair(node: ast.Tuple) -> bool:
    """Whether both items of a tuple are literals of several words, so sentences."""
    return all(
        isinstance(element, ast.Constant | ast.JoinedStr) and re.search(r"\w \w", _text(element))
        for element in node.elts
    )


def test_no_reader_raises_the_error_of_a_library() -> None:
    """The error of a library has no remedy, so a reader raises its own error."""
    places = []
    for path in sorted(ROOT.glob("*/*readers.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and node.name:
                places += [
                    f"{path.relative_to(ROOT)}:{child.lineno}"
                    for child in ast.walk(node)
                    if isinstance(child, ast.Raise) and isinstance(child.exc, ast.Name)
                ]

    assert places == []


def _messages(tree: ast.AST) -> list[tuple[int, str]]:
    """The line and the text of each literal message; a message that only joins other messages is left out."""
    messages = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or (name := ast.unparse(node.func)) == "_log.error":
            continue
        if name.rpartition(".")[2] in COMMAND_ERRORS:
            text = " ".join(_text(argument) for argument in node.args)
            if re.search(r"\w{2}", text.replace("{value}", "")):
                messages.append((node.lineno, text))
    return messages


def _text(node: ast.expr) -> str:
    """The text of a literal; a value counts as a remedy by its name."""
    if isinstance(node, ast.JoinedStr):
        parts = node.values
        return "".join(str(p.value) if isinstance(p, ast.Constant) else _text(p) for p in parts)
    if isinstance(node, ast.Constant):
        return str(node.value) if " " in str(node.value) else ""
    is_remedy = re.search(r"\b_?[A-Z]{3,}\b|remed(?:y|ies)|REMEDY", ast.unparse(node))
    return "{remedy}" if is_remedy else "{value}"
