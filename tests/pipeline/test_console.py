"""Reasons of the reports have English words, so that a command prints one language."""

import re
from typing import get_args

import pytest

from pipeline import console, seeds
from pipeline.nightly import fetching, report
from pipeline.registers.accounts import account_import, uk_accounts
from pipeline.registers.toml import accounts_reader, entity, filings
from pipeline.stages import (
    doubtful_accounts,
    implausible_values,
    rejections,
    sectors,
    statement_lines,
)

# The French reasons under which stages and importers count rows, as they are in the code.
REASONS = {
    *rejections.FAULTS,
    *implausible_values.REASONS,
    rejections.NO_COUNTRY,
    *statement_lines.faults(2029),
    statement_lines.NO_COMPANY,
    statement_lines.COPY,
    statement_lines.TOO_OLD,
    doubtful_accounts.UNBALANCED,
    doubtful_accounts.IMPLAUSIBLE,
    sectors.UNKNOWN,
    sectors.ABSENT,
    entity.NO_ID,
    entity.NO_NAME,
    *entity.UNREADABLE.values(),
    filings.NO_CLOSE,
    filings.NO_SCALE,
    filings.NO_CURRENCY,
    filings.REPLACED,
    accounts_reader.UNKNOWN,
    accounts_reader.UNNAMED,
    accounts_reader.NO_AMOUNT,
    accounts_reader.UNREADABLE,
    accounts_reader.REPEATED,
    accounts_reader.CONTRADICTED,
    account_import.UNKNOWN_CONCEPTS,
    uk_accounts.CONTRADICTED,
    account_import.NO_LINE,
    *(row["raison"] for row in seeds.read().tables["nace_hors"]),
}


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_every_reason_has_english_words(reason: str) -> None:
    words = console.english_reason(reason)

    assert words != reason
    assert not re.search("[à-ÿ]", words)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("pays 'ÖÖ'", "country 'ÖÖ'"),
        ("division 97 hors des secteurs", "division 97 is not a sector"),
        ("b.csv en cp1252", "b.csv has lines in Windows-1252"),
        ("sans taux EEK 2030", "no rate of EEK for 2030"),
        ("EMTAK 2025", "EMTAK 2025"),
    ],
)
def test_a_value_inside_a_reason_stays_in_its_english_words(reason: str, words: str) -> None:
    assert console.english_reason(reason) == words


def test_every_result_of_a_night_has_english_words() -> None:
    results = {*get_args(fetching.FetchResult), *get_args(report.SourceResult)}

    assert results <= console.ENGLISH.keys()
