"""Import: a register's published files become canonical Parquet, with a report of every row.

    out/companies/<source>.<stems>.parquet      or out/comptes/…, by the source
    out/rejected/<source>.<stems>.parquet       only if a row could not be kept
    out/imports/<source>.<stems>.json           the report

The name comes from the source and the published files, so that other files imported into the same
folder are added, and the same files again replace what they gave before. Each file appears whole:
`name.partial`, fsync, rename. The same files give the same bytes.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from pipeline import canonical
from pipeline.canonical import InputError
from pipeline.registers import REGISTERS
from pipeline.registers.register import Register, RegisterRows, RowCounts
from shards.generations import atomic_files

LONGEST_NAME: Final = 120  # a file name holds 255 bytes; the UK product comes in seven parts


@dataclass(frozen=True, slots=True)
class Report:
    """What an import did. `sortie` is relative to the output folder."""

    source: str
    files: tuple[str, ...]
    output: str
    rejected: str | None
    counts: RowCounts

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The report for a terminal, a few short lines."""
        return [
            f"{self.source}: {', '.join(self.files)} -> {self.output}",
            f"  {_n(self.counts.read)} lus, {_n(self.counts.kept)} gardés"
            + (f", {_n(self.counts.merged)} fusionnés" if self.counts.merged else ""),
            *_section("écarté", self.counts.dropped),
            *_section("rejeté", self.counts.rejected),
            *_section("traité à part", self.counts.noted, self.counts.examples),
            *_section("ignoré à dessein", {"en tout": sum(self.counts.ignored.values())}),
            *_section("détail", self.counts.detail),
        ]


def run(source: str, files: Sequence[Path], out: Path) -> Report:
    """Import the published `files` of `source` into the folder `out`.

    Raises:
        InputError: an unknown source, a file that cannot be read, a column that is new or gone,
            files that an earlier import into `out` shares only in part, or that give nothing.
    """
    register = _register(source)
    _check_files(files)
    with tempfile.TemporaryDirectory(prefix="import-", dir=_made(out)) as folder:
        try:
            reading = register.read(files, Path(folder))
            return _publish(register, files, reading, out)
        except pl.exceptions.PolarsError as error:
            names = ", ".join(file.name for file in files)
            raise InputError(f"{names}: no readable CSV: {_first_line(error)}") from error


def _publish(register: Register, files: Sequence[Path], reading: RegisterRows, out: Path) -> Report:
    name = output_name(register.source, reading.stems)
    _check_overlap(out, register.source, name, reading.stems)
    _check_kept(register.source, files, reading.counts)
    schema = canonical.COMPANIES if register.table == "companies" else canonical.COMPTES
    required = (
        canonical.COMPANIES_REQUIRED
        if register.table == "companies"
        else canonical.COMPTES_REQUIRED
    )
    canonical.check_columns(reading.kept.collect_schema(), schema, required, name)
    target = out / register.table / f"{name}.parquet"
    refused = out / "rejected" / f"{name}.parquet"
    _sink(reading.kept, target)
    if reading.counts.rejected:
        _sink(reading.rejected, refused)
    else:
        refused.unlink(missing_ok=True)
    report = Report(
        source=register.source,
        files=tuple(file.name for file in files),
        output=str(target.relative_to(out)),
        rejected=str(refused.relative_to(out)) if reading.counts.rejected else None,
        counts=reading.counts,
    )
    body = report.to_dict() | {"bases": list(reading.stems)}
    text = json.dumps(body, ensure_ascii=False, indent=1) + "\n"
    _write(out / "imports" / f"{name}.json", text.encode())
    return report


def output_name(source: str, stems: Sequence[str]) -> str:
    """The name, without suffix, of what these files give; the order of the files is not in it.

    >>> output_name("uk-basic", ["part2", "part1"])
    'uk-basic.part1+part2'
    """
    name = f"{source}.{'+'.join(sorted(stems))}"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    digest = blake2b(name.encode(), digest_size=8).hexdigest()
    return f"{source}.{min(stems)[:60]}+{len(stems) - 1}-{digest}"


def _register(source: str) -> Register:
    if source not in REGISTERS:
        raise InputError(f"unknown source {source!r}; known: {', '.join(sorted(REGISTERS))}")
    return REGISTERS[source]


def _check_files(files: Sequence[Path]) -> None:
    if not files:
        raise InputError("no file to import; name the register's published files")
    names = [file.name for file in files]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is given twice; name each file once")
    for file in files:
        if file.is_dir():
            raise InputError(f"{file} is a folder; name the published files in it, as {file}/*")
        if not file.is_file():
            raise InputError(f"{file}: no such file")


def _check_overlap(out: Path, source: str, name: str, stems: Sequence[str]) -> None:
    """Two imports that share a file would give its companies twice, and the build would stop."""
    for other in sorted((out / "imports").glob("*.json")):
        if other.stem == name:
            continue
        earlier = json.loads(other.read_text(encoding="utf-8"))
        both = sorted(set(earlier["bases"]) & set(stems))
        if earlier["source"] == source and both:
            raise InputError(
                f"{', '.join(both)} is already in {out / earlier['sortie']}, imported with"
                f" {', '.join(earlier['fichiers'])}; import those again, or delete it and {other}"
            )


def _check_kept(source: str, files: Sequence[Path], counts: RowCounts) -> None:
    """An empty result would be taken for a register without a company."""
    if counts.kept:
        return
    names = ", ".join(file.name for file in files)
    reasons = [f"{reason} ({_n(n)})" for reason, n in {**counts.rejected, **counts.dropped}.items()]
    found = f"none of {_n(counts.read)} is kept: {', '.join(reasons)}" if counts.read else "no row"
    raise InputError(f"{names}: {found}; is it a file of {source}? Download it again")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _sink(frame: pl.LazyFrame, target: Path) -> None:
    partial = _partial(target)
    frame.sink_parquet(partial, compression="zstd", maintain_order=True)
    atomic_files.appear(partial, target)


def _write(target: Path, content: bytes) -> None:
    partial = _partial(target)
    partial.write_bytes(content)
    atomic_files.appear(partial, target)


def _partial(target: Path) -> Path:
    return _made(target.parent) / f"{target.name}.partial"


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


def _n(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _section(
    title: str, counts: Mapping[str, int], examples: Mapping[str, tuple[str, ...]] | None = None
) -> Iterator[str]:
    for reason, n in ((reason, n) for reason, n in counts.items() if n):
        shown = (examples or {}).get(reason, ())
        after = f" (ex. {', '.join(shown)})" if shown else ""
        yield f"  {title} : {reason} : {_n(n)}{after}"
