"""`Societe` (§2.1): one company, with its forty fields, and a line of its statements (E5). Pure."""

from typing import Final

from serve.openapi.schema import Schema, nullable, number, shape, text, truth, whole

ETATS: Final = ("bilan_actif", "bilan_passif", "compte_resultat", "annexe")

_CONTACT: Final = "Null without the contact right (`coordonnees`); never approximated."

# In the order in which they are served (shards/record.py); null where the register is silent.
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
             pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    ),
    "effectif": nullable(whole("Headcount.")),
    "tranche_effectif": nullable(text("Headcount band: a code of INSEE, `00` to `53`.")),
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
}  # fmt: skip

# §2.1: "all fields are optional in the schema".
SOCIETE: Final = shape(
    "A company (société). Every field is there on every plan, null where it is not known.",
    FIELDS,
    optional=tuple(FIELDS),
)

LIGNE: Final = shape(
    "A line of a financial statement (états financiers).",
    {
        "etat": text(
            "Statement: assets, equity and liabilities, income statement, or annex.",
            enum=list(ETATS),
        ),
        "code": nullable(text("Code of the line in the filing.")),
        "libelle": text("Label of the line."),
        "valeur": nullable(number("Amount.")),
        "devise": nullable(text("Currency (ISO 4217).")),
        "exercice": whole("Fiscal year."),
        "ordre": nullable(whole("Place of the line within its statement.")),
    },
)
