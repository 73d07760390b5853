"""The schemas of the group of a company (extension X12), as components. Pure."""

from typing import Final

from serve.docs.openapi.schema import (
    Schema,
    array,
    either,
    nullable,
    one_of,
    reason,
    ref,
    shape,
    text,
    whole,
)

_COMPANY: Final[dict[str, Schema]] = {
    "iso2": text("Country."),
    "id": text("National identifier."),
    "nom": text("Name."),
}
_LINK_KEYS: Final[dict[str, Schema]] = {
    "lei": text("LEI of the parent or child (ISO 17442)."),
    "societe": either(shape("The company of this LEI.", _COMPANY), {"type": "null"}),
    "nature": one_of(
        "Direct or ultimate accounting consolidation; branch of a foreign company.",
        "directe", "ultime", "succursale",
    ),
    "debut": nullable(text("First day of the relationship.")),
    "fin": nullable(text("Last day of the relationship.")),
}  # fmt: skip
_LINK: Final = shape("A link of the group.", _LINK_KEYS)
_FORMER_LINK: Final = shape(
    "A link that has ended.",
    {"role": one_of("What the other one was: parent or child.", "mere", "filiale"), **_LINK_KEYS},
)
_GROUP: Final[dict[str, Schema]] = {
    "societe": shape("The company.", {**_COMPANY, "lei": nullable(text("Its LEI."))}),
    "plan": ref("CodePlan"),
    **reason(
        "`lei_absent`: the company has no LEI; `aucune_relation`: the LEI data know no links of it; "
        "`boucle`: its parents lead back to one of themselves; `parents_coupes`: it has over 100."
    ),
    "parents": either(
        array(_LINK, "From the direct parent upward; null: nothing is known."), {"type": "null"}
    ),
    "tete": either(_LINK, {"type": "null"}),
    "enfants": either(
        array(_LINK, "Direct children and branches, by LEI; null: nothing is known."),
        {"type": "null"},
    ),
    "total_enfants": nullable(whole("Direct children and branches.", minimum=0)),
    "total_consolidees": nullable(
        whole("Companies of which it is the ultimate parent.", minimum=0)
    ),
    "anciens_liens": either(
        array(_FORMER_LINK, "Links of the company that have ended; null: nothing is known."),
        {"type": "null"},
    ),
    "sources": array(
        shape(
            "A source of the links.",
            {
                "source": text("Name of the source."),
                "registre": text("Publisher."),
                "licence": text("Licence."),
                "licence_adresse": text("Address of the licence."),
                "attribution": text("Attribution, French."),
                "attribution_en": text("Attribution, English."),
                "date": nullable(text("Date of the file.")),
            },
        ),
        "Where the links come from; empty without links.",
    ),
    "offre_suivante": either(ref("Offre"), {"type": "null"}),
}

GROUPS: Final[dict[str, Schema]] = {
    "Groupe": shape("The group of a company.", _GROUP),
    "GroupeRefuse": shape(
        "The key is not valid: what a visitor gets, and `erreur`.",
        {**_GROUP, "erreur": ref("Erreur")},
    ),
}
