"""Identifiers and codes in other spellings, as spreadsheets and people write them: one value of a layout is changed."""

import unicodedata
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from pipeline.registers.register import RegisterRows
from tests.pipeline.registers import layouts
from tests.pipeline.registers.reading import read, rejected_reasons

LAYOUTS: Final = layouts.layouts_by_source()
PERSON: Final = "personne physique"
EE_PERSON: Final = "Füüsilisest isikust ettevõtja"


def _read_changed(source: str, old: str, new: str, folder: Path) -> RegisterRows:
    """Import the files of a layout, with `new` in the place of the first `old` of each file that has it."""
    folder.mkdir()
    paths = []
    texts = {name: text.decode() for name, text in LAYOUTS[source].files.items()}
    assert any(old in text for text in texts.values())
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_text(text.replace(old, new, 1), encoding="utf-8", newline="")
    work = folder / "work"
    work.mkdir()
    return read(source, paths, work)


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("be-kbo", '"000","2"', '"000","1.0"'),
        ("be-kbo", '"000","2"', '"000","01"'),
        ("ch-zefix", '"0106"', "101"),
        ("cz-res", ",325,325,", ",101.0,101.0,"),
        ("ee", "Osaühing", unicodedata.normalize("NFD", EE_PERSON)),
        ("ee", "Osaühing", EE_PERSON.lower()),
        ("ee", "Osaühing", "fie"),
        ("fr-rne", '"typePersonne": "M"', '"typePersonne": "p"'),
        ("fr-sirene", ",7210,", ",1000.0,"),
        ("lv-ur", ";BDR;", ";ik;"),
        ("no-enheter", '"kode": "ASA"', '"kode": "enk"'),
        ("ro-onrc", "^SRL^", "^pfa^"),
        ("ro-onrc", "^SRL^", "^I.I.^"),
        ("ro-onrc", "^SRL^", "^INTREPRINDERE INDIVIDUALA^"),
        ("se-bolagsverket", "ORGNR-IDORG", "Person-IDORG"),
        ("se-bolagsverket", "I-ORGFO", "e-ORGFO"),
    ],
)
def test_a_natural_person_is_dropped_in_every_spelling(
    tmp_path: Path, source: str, old: str, new: str
) -> None:
    published = _read_changed(source, old, old, tmp_path / "published").counts.dropped

    changed = _read_changed(source, old, new, tmp_path / "changed").counts.dropped

    assert changed == {**published, PERSON: published.get(PERSON, 0) + 1}


@pytest.mark.parametrize(
    ("source", "published", "spelling"),
    [
        ("be-kbo", '"0200.065.765"', "200065765.0"),
        ("be-kbo", '"0200.065.765"', "0200 065 765"),
        ("cz-res", "00006941", "6941.0"),
        ("cz-res", "00006941", "000 06 941"),
        ("fr-egapro", "377998679", "377 998 679"),
        ("fr-ratios", "005781133", "5781133.0"),
        ("fr-ratios", "005781133", "005 781 133"),
        ("fr-sirene", "213300759", "213\u00a0300\u00a0759"),
        ("no-enheter", '"883603362"', '"883 603 362"'),
        ("sk-rpo", '"31322832"', '"31 322 832"'),
        ("uk-basic", "09102728", "9102728"),
    ],
)
def test_a_number_in_another_spelling_is_the_same_number(
    tmp_path: Path, source: str, published: str, spelling: str
) -> None:
    expected = _read_changed(source, published, published, tmp_path / "published")

    reading = _read_changed(source, published, spelling, tmp_path / "changed")

    assert reading.kept.collect().equals(expected.kept.collect())


@pytest.mark.parametrize(
    ("source", "published", "longer"),
    [
        ("fr-egapro", "377998679", "FR61377998679"),
        ("fr-ratios", "005781133", "FR45005781133"),
        ("sk-rpo", "31322832", "SK31322832"),
    ],
)
def test_a_longer_text_is_no_number_and_is_not_cut(
    tmp_path: Path, source: str, published: str, longer: str
) -> None:
    reading = _read_changed(source, published, longer, tmp_path / "changed")

    assert longer in reading.kept.collect()["id"]


def test_a_latvian_postal_code_with_its_prefix_is_unchanged(tmp_path: Path) -> None:
    for number, index in enumerate(("1019", "1019.0", "LV-1019")):
        reading = _read_changed("lv-ur", ";1019;", f";{index};", tmp_path / str(number))

        assert reading.kept.collect()["code_postal"][0] == "LV-1019"


def test_french_places_have_their_lost_zeros(tmp_path: Path) -> None:
    """33520 is the postal code, 33075 the code of the town."""
    reading = _read_changed(
        "fr-sirene", ",33520,BRUGES,,,33075,", ",1000,BOURG,,,1053,", tmp_path / "f"
    )

    [row] = reading.kept.filter(pl.col("ville") == "BOURG").collect().to_dicts()
    assert (row["code_postal"], row["region"]) == ("01000", "01")


@pytest.mark.parametrize(
    ("answer", "status", "noted"),
    [
        ('"SANN"', "Konkurs", {}),
        ('"ja"', "Konkurs", {}),
        ("1", "Konkurs", {}),
        ('"USANN"', "Aktiv", {}),
        ("null", "Aktiv", {}),
        ('"kanskje"', None, {"faillite : ni oui ni non": 1}),
    ],
)
def test_a_norwegian_answer_is_read_in_each_language_or_gives_no_status(
    tmp_path: Path, answer: str, status: str | None, noted: dict[str, int]
) -> None:
    reading = _read_changed(
        "no-enheter", '"konkurs": false', f'"konkurs": {answer}', tmp_path / "changed"
    )

    assert reading.kept.collect()["statut"][0] == status
    assert reading.counts.noted == noted


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("fr-ratios", "185976000.0,8317000.0,K", "185976000.0,8317000.0,k"),
        ("lv-comptes", "DokGPUIENv1;UGP", "DokGPUIENv1;ukgp"),
    ],
)
def test_accounts_of_a_group_are_recognised_in_small_letters(
    tmp_path: Path, source: str, old: str, new: str
) -> None:
    as_published = _read_changed(
        source, old, new.upper().replace("DOKGPUIENV1", "DokGPUIENv1"), tmp_path / "a"
    )

    reading = _read_changed(source, old, new, tmp_path / "b")

    assert reading.kept.collect().equals(as_published.kept.collect())
    assert any(code.endswith("Consolidated") for code in reading.kept.collect()["code"])


def test_ratios_of_an_unknown_kind_are_rejected(tmp_path: Path) -> None:
    reading = _read_changed("fr-ratios", "8317000.0,K", "8317000.0,X", tmp_path / "changed")

    assert rejected_reasons(reading) == [("type de bilan inconnu", "X")]


def test_a_state_that_is_not_in_the_list_of_the_register_gives_no_status(tmp_path: Path) -> None:
    latvian = _read_changed("lv-ur", ";2015-03-02;; ;", ";2015-03-02;;?;", tmp_path / "lv")
    swedish = _read_changed(
        "se-bolagsverket",
        '"2017-03-30";"OVERK-AVORG";""',
        '"";"";"XX-AVOMFO$2020-01-01"',
        tmp_path / "se",
    )

    assert latvian.kept.collect()["statut"][0] is None
    assert latvian.counts.noted == {"fin inconnue": 1}
    assert swedish.kept.collect()["statut"][0] is None
    assert swedish.counts.noted == {"procédure inconnue": 1}


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("be-kbo", '"000","2"', '"000",""'),
        ("cz-res", ",325,325,", ",,,"),
        ("fr-rne", '"typePersonne": "M"', '"typePersonne": null'),
        ("fr-sirene", ",7210,", ",,"),
        ("lv-ur", ";BDR;", ";;"),
        ("no-enheter", '"kode": "ASA"', '"kode": null'),
    ],
)
def test_a_row_that_does_not_say_whether_it_is_a_person_is_rejected(
    tmp_path: Path, source: str, old: str, new: str
) -> None:
    published = _read_changed(source, old, old, tmp_path / "published")

    reading = _read_changed(source, old, new, tmp_path / "changed")

    assert [reason for reason, _ in rejected_reasons(reading)] == ["nature juridique absente"]
    assert reading.counts.kept == published.counts.kept - 1


@pytest.mark.parametrize(
    ("source", "old", "published", "status"),
    [
        ("cz-res", "1993-01-01,,,", "1993-01-01,{},,", "Zaniklý"),
        ("lv-ur", "2015-03-02;;", "2015-03-02;{};", "Likvidēts"),
        ("se-bolagsverket", '"2017-03-30"', '"{}"', "Avregistrerat"),
    ],
)
@pytest.mark.parametrize("end", ["2020-01-31", "-", "0", "NULL", "00000000"])
def test_only_a_date_ends_a_company(
    tmp_path: Path, source: str, old: str, published: str, status: str, end: str
) -> None:
    reading = _read_changed(source, old, published.format(end), tmp_path / "changed")

    is_date = end == "2020-01-31"
    assert reading.kept.collect()["statut"][0] == (status if is_date else None)
    assert reading.counts.noted.get("fin illisible", 0) == (not is_date)


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ('"czyPosiadaStatusOPP": false', '"czyPosiadaStatusOPP": true', "Aktywny"),
        ('"nazwa": "SWLEX', '"nazwa": "Swlex w likwidacji', "W likwidacji"),
        ('"nazwa": "SWLEX', '"nazwa": "Swlex w upadłości', "W upadłości"),
        (
            '"dzial6": {}',
            '"dzial6": {"likwidacja": [{"otwarcieLikwidacji": "UCHWAŁA"}]}',
            "W likwidacji",
        ),
        (
            '"dzial6": {}',
            '"dzial6": {"postepowanieUpadlosciowe": {"data": {"x": 1}}}',
            "W upadłości",
        ),
        ('"dzial6": {}', '"dzial6": {"likwidacja": [], "postepowanieUpadlosciowe": {}}', "Aktywny"),
    ],
)
def test_a_polish_proceeding_is_known_by_the_name_or_by_its_section(
    tmp_path: Path, old: str, new: str, status: str
) -> None:
    reading = _read_changed("pl-krs", old, new, tmp_path / "changed")

    assert reading.kept.collect()["statut"][0] == status


def test_a_finnish_company_that_ended_is_not_registered(tmp_path: Path) -> None:
    reading = _read_changed(
        "fi-prh", '{"businessId"', '{"endDate": "2020-01-01", "businessId"', tmp_path / "changed"
    )

    assert reading.kept.collect()["statut"][0] == "Lakannut"


def test_a_withheld_address_of_a_seat_is_unknown(tmp_path: Path) -> None:
    reading = _read_changed(
        "fr-sirene",
        ",87,,AVENUE,CHARLES DE GAULLE,33520,",
        ",[ND],,[ND],[ND],[ND],",
        tmp_path / "changed",
    )

    [row] = reading.kept.filter(pl.col("ville") == "BRUGES").collect().to_dicts()
    assert (row["adresse"], row["code_postal"], row["region"]) == (None, None, "33")
    assert reading.counts.noted["adresse non diffusée"] == 1


@pytest.mark.parametrize("spelling", ["sc1234", "SC1234", "sc001234"])
def test_a_scottish_number_has_eight_capital_characters(tmp_path: Path, spelling: str) -> None:
    reading = _read_changed("uk-basic", "09102728", spelling, tmp_path / "changed")

    assert "SC001234" in reading.kept.collect()["id"]


@pytest.mark.parametrize("kind", ["", " "])
def test_ratios_without_a_kind_are_rejected(tmp_path: Path, kind: str) -> None:
    reading = _read_changed("fr-ratios", ",C,", f",{kind},", tmp_path / "changed")

    assert reading.counts.rejected == {"type de bilan inconnu": 1}
