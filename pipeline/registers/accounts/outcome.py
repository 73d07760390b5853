"""The account of an import of filings: counts of facts, and the rejected filings by name."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from pipeline.canonical import InputError
from pipeline.registers.accounts.filing import TOO_LONG, FilingError
from pipeline.registers.register import EXAMPLES, RowCounts

UNKNOWN: Final = "concepts inconnus"
MOST_SLOW: Final = 10  # filings that take too long, in one import


@dataclass(slots=True)
class Tally:
    """Counts of facts, summed over filings. The keys of `counts` go to the import report."""

    counts: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)  # by reason
    unknown: Counter[str] = field(default_factory=Counter)  # by concept


@dataclass(slots=True)
class FilingOutcome:
    """The account of the filings: read = kept + rejected."""

    tally: Tally = field(default_factory=Tally)
    rejected: list[dict[str, str | int | None]] = field(default_factory=list)
    read: int = 0
    kept: int = 0
    slow: int = 0

    def reject(
        self, file: str, number: str | None, error: FilingError, row: int | None = None
    ) -> None:
        """Record that the filing `file`, or the account number `row` in it, gives nothing, with the reason.

        Raises:
            InputError: too many filings took too long; the others would take as long.
        """
        self.rejected.append(
            {
                "fichier": file,
                "ligne": row,
                "id": number,
                "motif": error.reason,
                "detail": error.detail,
            }
        )
        if error.reason == TOO_LONG:
            self.slow += 1
            if self.slow > MOST_SLOW:
                raise InputError(
                    f"{file} is filing number {self.slow} that takes far too long; fetch the archive again"
                )

    def row_counts(self) -> RowCounts:
        """The account as every import reports it; unknown concepts are named, the commonest."""
        tally = self.tally
        often = [f"{concept} ({n})" for concept, n in tally.unknown.most_common(4 * EXAMPLES)]
        return RowCounts(
            read=self.read,
            kept=self.kept,
            rejected=dict(sorted(Counter(str(row["motif"]) for row in self.rejected).items())),
            noted={UNKNOWN: tally.unknown.total()} if tally.unknown else {},
            ignored=dict(sorted(tally.ignored.items())),
            examples={UNKNOWN: tuple(often)} if often else {},
            detail={what: n for what, n in sorted(tally.counts.items()) if n},
        )
