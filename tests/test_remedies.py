"""An error that reaches a user says what to do next: in the tables of texts, and in the messages of commands."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from serve.contract import errors
from serve.contract.errors import MESSAGES

ROOT: Final = Path(errors.__file__).parents[2]
# Parts of a message whose other part has the remedy, and remedies that are a fact.
PARTS: Final = {
    "paiement", "devis", "comptes", "exports", "paiement_indisponible", "paiement_sans_effet", "valeur_comme",
    "chaine_de_requete", "en_tete", "la_requete", "proches", "pays_endommage", "sans_generation", "magasin_ferme",
    "en_lecture", "sans_compteurs", "sans_modifications", "sans_place", "sans_fichier", "trop_de_chiffres",
    "trop_de_connexions", "appels_par_jour", "appels_par_minute", "credits_par_mois", "exports_par_mois",
    "parametres_admis", "recherche", "offre_la_plus_haute", "exports_a_venir", "outil_necessaire",
}  # fmt: skip

# A value that lists what may be sent, or is itself a remedy; the path of a page or route that helps; a command.
_POINTER: Final = r"\{(?:known|remedy|allowed|routes|types|wanted|why|fault|refusal|offre|shown_2)(?:!r)?\}|/[a-z]|`"
FRENCH: Final = re.compile(rf"\b(?!(?:avez|chez|assez)\b)\w+ez\b|il faut|{_POINTER}")
_VERBS: Final = (
    "add ask begin build call cast check choose compact correct create delete download drop "
    "encode exchange fetch give go import install invite keep leave look make mend mount move "
    "name omit open pip put raise read rebuild reload remove rename repeat report restore retry "
    "return revoke run save see send set shorten sort spread start stop swap take try use verify "
    "wait write"
)
ENGLISH: Final = re.compile(
    rf"(?:^|[;:.,?(] |\b(?:or|and|else|please) )(?:{'|'.join(_VERBS.split())})\b"
    rf"|known: |there are |is needed| --[a-z]|{_POINTER}",
    re.IGNORECASE,
)

# The errors that end a command with their text. Those of mirrors that may pass (FaultError, AbsentError) get their
# remedy where they are given up, and FilingError is a reason in a report.
SHOWN: Final = frozenset({
    "ArgumentTypeError", "BuildError", "ConfigError", "CorruptError", "DeclarationError", "FetchError", "FormulaError",
    "GenerationError", "ImplausibleError", "InputError", "MakingError", "NightlyConfigError", "NotAllowedError",
    "ObjectionsError", "OutOfOrderError", "StoreUnavailable", "WorkersError",
    "PlansError", "PortError", "SeedError", "SyncError", "UnknownError", "WrongFormatError", "WrongStoreError",
    "error",  # of argparse
})  # fmt: skip


@pytest.mark.parametrize("name", sorted(MESSAGES.keys() - PARTS))
def test_a_text_of_an_error_says_what_to_do_in_both_languages(name: str) -> None:
    text = MESSAGES[name].text

    assert FRENCH.search(text.fr)
    assert ENGLISH.search(text.en)


def test_a_part_without_a_remedy_is_there() -> None:
    assert PARTS - MESSAGES.keys() == set()


def test_a_message_of_a_command_says_what_to_do() -> None:
    silent = []
    for room in ("pipeline", "quota", "serve", "shards", "seeds"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for place, text in _messages(ast.parse(path.read_text(encoding="utf-8"))):
                if not ENGLISH.search(text):
                    silent.append(f"{path.relative_to(ROOT)}:{place}: {text}")

    assert silent == []


def test_no_text_of_an_error_stands_beside_the_tables() -> None:
    """A pair of texts that a module with errors writes itself would not be read above."""
    beside = []
    for path in sorted((ROOT / "serve").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        # The titles of pages, and mails: neither is an error.
        if path.name in ("render.py", "outbox.py") or not _knows_errors(tree):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Tuple) and len(node.elts) == 2 and _is_pair(node):
                beside.append(f"{path.relative_to(ROOT)}:{node.lineno}")

    assert beside == []


def _knows_errors(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and "errors" in (node.module, *(n.name for n in node.names))
        for node in ast.walk(tree)
    )


def _is_pair(node: ast.Tuple) -> bool:
    """Two sentences: literals of several words."""
    return all(
        isinstance(one, ast.Constant | ast.JoinedStr) and re.search(r"\w \w", _text(one))
        for one in node.elts
    )


def test_no_reader_raises_the_error_of_a_library() -> None:
    """A reader says what to give: the error that it caught does not."""
    raised = []
    for path in sorted(ROOT.glob("*/*readers.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and node.name:
                raised += [
                    f"{path.relative_to(ROOT)}:{one.lineno}"
                    for one in ast.walk(node)
                    if isinstance(one, ast.Raise) and isinstance(one.exc, ast.Name)
                ]

    assert raised == []


def _messages(tree: ast.AST) -> list[tuple[int, str]]:
    """The messages that are literals, by line; what only joins other messages is none."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or (name := ast.unparse(node.func)) == "_log.error":
            continue
        if name.rpartition(".")[2] in SHOWN:
            text = " ".join(_text(one) for one in node.args)
            if re.search(r"\w{2}", text.replace("{value}", "")):
                found.append((node.lineno, text))
    return found


def _text(node: ast.expr) -> str:
    """The text of a literal; a value that stands for a remedy by its name is one."""
    if isinstance(node, ast.JoinedStr):
        parts = node.values
        return "".join(str(p.value) if isinstance(p, ast.Constant) else _text(p) for p in parts)
    if isinstance(node, ast.Constant):
        return str(node.value) if " " in str(node.value) else ""
    is_remedy = re.search(r"\b_?[A-Z]{3,}\b|remed(?:y|ies)", ast.unparse(node))
    return "{remedy}" if is_remedy else "{value}"
