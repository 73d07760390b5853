"""The schema of a company (§2.1), whose record is stored JSON. Pure."""

from typing import Final

from serve.docs.openapi.schema import (
    Schema,
    nullable,
    number,
    one_of,
    shape,
    text,
    texts,
    truth,
    whole,
)

ETATS_SOCIETE: Final = ("active", "procedure", "cessee", "inconnu")

_DATE: Final = r"^\d{4}(-\d{2}(-\d{2})?)?$"
_CONTACT: Final = "Null without the contact right (`coordonnees`); never approximated."

# In the order in which they are served (shards/codec/record.py); null if the register has no value.
FIELDS: Final[dict[str, Schema]] = {
    "iso2": text("Country (pays): ISO 3166-1 alpha-2, `UK` for the United Kingdom."),
    "id": text("National identifier, such as a number of the register."),
    "nom": text("Name, as the register writes it."),
    "forme": nullable(text("Legal form.")),
    "statut": nullable(text("Status. Dissolved companies are included.")),
    "activite": nullable(text("Activity, in the register's own words.")),
    "ville": nullable(text("City.")),
    "code_postal": nullable(text("Postal code.")),
    "region": nullable(text("Region.")),
    "adresse": nullable(text("Address.")),
    "date_creation": nullable(
        text("Date of creation: `YYYY-MM-DD`, else `YYYY-MM` or `YYYY`.",
             pattern=_DATE)
    ),
    "effectif": nullable(whole("Headcount.")),
    "tranche_effectif": nullable(
        text(
            "Headcount band: a code of INSEE, `00` to `53`, or the numbers that the register names "
            "(`200-249`)."
        )
    ),
    "capital_social": nullable(number("Share capital, in `capital_devise`.")),
    "capital_devise": nullable(text("Currency of the share capital (ISO 4217).")),
    "ca_eur": nullable(
        number("Turnover in euros of the last published fiscal year, at its annual average rate.")
    ),
    "ca_last": nullable(number("Turnover in `ca_devise`, to be multiplied by `ca_mult`.")),
    "ca_year": nullable(whole("Fiscal year of the turnover.")),
    "ca_devise": nullable(text("Currency of `ca_last` (ISO 4217).")),
    "ca_mult": nullable(whole("Multiplier of `ca_last`.")),
    "total_actif_last": nullable(
        number("Total assets of the last year, in `devise`, to be multiplied by `unite_mult`.")
    ),
    "exercice_actif": nullable(whole("Fiscal year of the total assets.")),
    "devise": nullable(text("Currency of `total_actif_last` (ISO 4217).")),
    "unite_mult": nullable(whole("Multiplier of `total_actif_last`.")),
    "n_exercices": nullable(whole("Fiscal years available.")),
    "exercice_min": nullable(whole("First of them.")),
    "exercice_max": nullable(whole("Last of them.")),
    "secteur": nullable(text("Sector: its French label.")),
    "grand_secteur": nullable(text("Top-level sector group: its French label.")),
    "sous_secteur": nullable(text("Sub-sector: its French label.")),
    "nace_code": nullable(text("Activity code (NACE), in the revision that the register uses.")),
    "nace_libelle": nullable(text("French label of the activity code.")),
    "description": nullable(text("Description.")),
    "site_web": nullable(text(f"Website. {_CONTACT}")),
    "domaine": nullable(text(f"Domain of the website. {_CONTACT}")),
    "email": nullable(text(f"Address of e-mail. {_CONTACT}")),
    "telephone": nullable(text(f"Telephone. {_CONTACT}")),
    "est_cotee": nullable(truth("Listed on an exchange.")),
    "url_registre": nullable(text("Page of the company at its official register.")),
    "score": nullable(number("Completeness of the data, 0 to 100; a key to sort by.")),
    "etat": one_of(
        "State, normalised from `statut`: `procedure` is insolvency, liquidation or winding up, "
        "`cessee` struck off, dissolved or merged away.",
        *ETATS_SOCIETE,
    ),
    "lei": nullable(text("Legal entity identifier (ISO 17442).")),
    "tva": nullable(text("VAT number.")),
    "date_source": nullable(
        text("Date of the register's file: `YYYY-MM-DD`, else `YYYY-MM` or `YYYY`.", pattern=_DATE)
    ),
    "noms_anterieurs": nullable(texts("Former names.")),
    "nace_secondaires": nullable(texts("Codes of further activities (NACE).")),
    "forme_fr": nullable(text("`forme` in French; null where its words are not known.")),
    "statut_fr": nullable(text("`statut` in French; null where its words are not known.")),
}  # fmt: skip

# §2.1: "all fields are optional in the schema".
SOCIETE: Final = shape(
    "A company (société). Every field is there on every plan, null where it is not known.",
    FIELDS,
    optional=tuple(FIELDS),
)
