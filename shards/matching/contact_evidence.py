"""Evidence of the address, activity, website and e-mail address of a line (extension X19).

Of a website and an e-mail address only the domain is compared; one of a provider of mailboxes says nothing. Where the
contacts of the company are null, because it has none or the caller has no right to them, only its name is compared.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from shards.codec.folding import fold
from shards.matching.line import Line

_CODE: Final = re.compile(r"[A-U]? ?(\d{2})\.?(\d)?(\d)?\.?\d{0,3}[A-Z]?")
_HOST: Final = re.compile(r"(?:[a-z]+://)?(?:[^/@]*@)?(?:www\d?\.)?([^/:?#\s]+)")
# Words that agree in so many letters at the beginning are the same in another number or gender.
_STEM: Final = 5
_ALIKE: Final = 0.6
_LABELS: Final = ("activite", "secteur", "sous_secteur", "nace_libelle", "description")


def of_line(
    line: Line,
    company: Mapping[str, Any],
    mail_providers: Collection[str],
    classes: Collection[str] = (),
) -> dict[str, float]:
    """The evidence; nothing where one side does not have a value.

    Args:
        mail_providers: domains that anybody may have an e-mail address of.
        classes: the classes of the NACE that the words of the activity of the line name.
    """
    if not (line.adresse or line.activite or line.site_web or line.email):
        return {}
    codes = [
        line.adresse and company["adresse"] and _address(line.adresse, company),
        line.activite and _activity(line.activite, company, classes),
        *(
            _domain(domain, company)
            for given in (line.site_web, line.email)
            if (domain := domain_of(given)) and domain not in mail_providers
        ),
    ]
    return {code: 1.0 for code in codes if code}


def domain_of(text: str | None) -> str:
    """The domain of a website or an e-mail address.

    >>> domain_of("https://www.Example.co.uk/fr"), domain_of("a@example.fr"), domain_of(None)
    ('example.co.uk', 'example.fr', '')
    """
    matched = _HOST.match((text or "").strip().lower())
    return matched[1].strip(".") if matched and "." in matched[1] else ""


def _address(given: str, company: Mapping[str, Any]) -> str:
    """How much of the shorter address is in the longer one; the numbers must be there."""
    place = set(fold(f"{company['ville'] or ''} {company['code_postal'] or ''}").split())
    one, other = (set(fold(text).split()) - place for text in (given, company["adresse"]))
    least = min(len(one), len(other))
    if not least:
        return ""
    numbers = {word for word in one if word.isdigit()}, {word for word in other if word.isdigit()}
    same_number = not all(numbers) or bool(numbers[0] & numbers[1])
    if same_number and len(one & other) >= _ALIKE * least:
        return "adresse_identique"
    return "" if any(len(word) >= _STEM for word in one & other) else "adresse_differente"


def _activity(given: str, company: Mapping[str, Any], classes: Collection[str]) -> str:
    """A code is compared with the code, words with the classes that they name and all labels of the company."""
    if matched := _CODE.fullmatch(given.strip()):
        code = (company["nace_code"] or "").replace(".", "")
        asked = "".join(digit for digit in matched.groups() if digit)
        if not code:
            return ""
        length = min(len(code), len(asked))
        if code[:length] == asked[:length]:
            return "activite_identique"
        return "" if code[:2] == asked[:2] else "activite_differente"
    if company["nace_code"] in classes:
        return "activite_identique"
    words = {word[:_STEM] for word in fold(given).split() if len(word) >= _STEM - 1}
    known = " ".join(str(company[field]) for field in _LABELS if company[field])
    stems = {word[:_STEM] for word in fold(known).split()}
    return "activite_identique" if words & stems else ""


def _domain(domain: str, company: Mapping[str, Any]) -> str:
    if domain in (domain_of(company[field]) for field in ("site_web", "domaine", "email")):
        return "site_identique"
    label, name = (
        fold(text).replace(" ", "") for text in (domain.partition(".")[0], company["nom"])
    )
    return "site_du_nom" if len(label) >= _STEM - 1 and label in name else ""
