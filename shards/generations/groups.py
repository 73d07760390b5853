"""Groups of a generation: which LEI consolidates which, in one file of fixed rows (extension X12, FORMAT.md §13).

A row is a relationship from a child to a parent. Rows ascend by child, kind and parent; `by_parent` of row n is
the row that is n-th by parent, kind and child. Both directions are then a binary search in the mapped file.
The file is absent where a build had no relationships. `groups.json` beside it says where they come from.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.errors import CorruptError

GROUPS: Final = "groups.npy"
GROUP_SOURCES: Final = "groups.json"
# Direct and ultimate accounting consolidation; the head office of an international branch (RR-CDF 2.1).
NATURES: Final = ("directe", "ultime", "succursale")
_ROW: Final = np.dtype(
    [("child", "S20"), ("parent", "S20"), ("nature", "u1"), ("debut", "<u4"), ("fin", "<u4"),
     ("by_parent", "<u4")]
)  # fmt: skip


class Relationship(NamedTuple):
    """A relationship; its dates are in ISO form, None where none is known."""

    child: str
    parent: str
    nature: str
    debut: str | None
    fin: str | None


@dataclass(frozen=True, slots=True)
class Groups:
    """The relationships of a generation."""

    rows: NDArray[np.void]

    def parents(self, lei: str) -> Iterator[Relationship]:
        """The relationships in which this LEI is the child, by kind."""
        first = bisect_left(
            range(len(self.rows)), lei, key=lambda at: _text(self.rows[at]["child"])
        )
        for at in range(first, len(self.rows)):
            found = _relationship(self.rows[at])
            if found.child != lei:
                return
            yield found

    def children(
        self, lei: str, nature: str, most: int | None = None, *, ended: bool = False
    ) -> list[Relationship]:
        """The relationships of a kind in which this LEI is the parent, by child; the first `most`.

        Args:
            ended: those that have ended, not those that hold.
        """
        return [_relationship(self.rows[at]) for at in self._children(lei, nature, ended)[:most]]

    def count_children(self, lei: str, nature: str) -> int:
        """The number of relationships of a kind that hold in which this LEI is the parent."""
        return len(self._children(lei, nature, ended=False))

    def _children(self, lei: str, nature: str, ended: bool) -> NDArray[np.uint32]:
        """The places of these relationships."""
        places = range(len(self.rows))
        wanted = (lei, NATURES.index(nature))

        def key(at: int) -> tuple[str, int]:
            row = self.rows[int(self.rows[at]["by_parent"])]
            return _text(row["parent"]), int(row["nature"])

        found = slice(bisect_left(places, wanted, key=key), bisect_right(places, wanted, key=key))
        rows: NDArray[np.uint32] = self.rows["by_parent"][found]
        kept: NDArray[np.uint32] = rows[(self.rows["fin"][rows] != 0) == ended]
        return kept


NO_GROUPS: Final = Groups(np.empty(0, _ROW))


def write(path: Path, relationships: Iterable[Relationship]) -> None:
    """Write the relationships to the file `path`, in any order; repeated ones once."""
    unique = sorted(set(relationships), key=_by_child)
    rows = np.zeros(len(unique), _ROW)
    for at, one in enumerate(unique):
        nature = NATURES.index(one.nature)
        rows[at] = (one.child, one.parent, nature, _number(one.debut), _number(one.fin), 0)
    order = sorted(range(len(unique)), key=lambda at: _by_parent(unique[at]))
    rows["by_parent"] = order
    with path.open("wb") as file:
        np.save(file, rows, allow_pickle=False)


def read(path: Path) -> Groups:
    """The groups in the file `path`, mapped; none if there is no file.

    Raises:
        CorruptError: the file is damaged, or is none of this format.
    """
    try:
        with np.errstate(over="raise"):  # the size of a number of rows that the file does not have
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        return NO_GROUPS
    except (ValueError, OSError, ArithmeticError, EOFError) as error:
        raise CorruptError(f"{path} cannot be read ({error}); build or fetch it again") from error
    if rows.dtype != _ROW or rows.ndim != 1:
        raise CorruptError(f"{path} has rows of {rows.dtype}, not of this format; build it again")
    return Groups(rows)


def check_values(groups: Groups) -> None:
    """Check that each row refers to rows and kinds that there are, and has ASCII identifiers; not the order.

    Raises:
        CorruptError: one does not.
    """
    rows = groups.rows
    identifiers = np.concatenate([rows["child"], rows["parent"]]).view(np.uint8)
    if (
        (rows["by_parent"] >= len(rows)).any()
        or (rows["nature"] >= len(NATURES)).any()
        or (identifiers >= 0x80).any()
    ):
        raise CorruptError(f"{GROUPS} has a row that refers to nothing; build or fetch it again")


def check(groups: Groups) -> None:
    """Check the order of the rows, slowly.

    Raises:
        CorruptError: names the first row that is out of order.
    """
    rows = [_relationship(row) for row in groups.rows]
    order = groups.rows["by_parent"].tolist()
    by_parent = [rows[at] for at in order if at < len(rows)]
    if sorted(order) != list(range(len(rows))):
        raise CorruptError(f"{GROUPS}: by_parent does not hold every row once; build it again")
    for name, found, key in (("child", rows, _by_child), ("parent", by_parent, _by_parent)):
        for before, after in pairwise(found):
            if key(before) >= key(after):
                raise CorruptError(
                    f"{GROUPS}: {after} is not in the order of its {name}; build it again"
                )


def _by_child(relationship: Relationship) -> tuple[Any, ...]:
    return (
        relationship.child,
        NATURES.index(relationship.nature),
        relationship.parent,
        relationship.debut or "",
        relationship.fin or "",
    )


def _by_parent(relationship: Relationship) -> tuple[Any, ...]:
    return (
        relationship.parent,
        NATURES.index(relationship.nature),
        relationship.child,
        relationship.debut or "",
        relationship.fin or "",
    )


def _relationship(row: np.void) -> Relationship:
    return Relationship(
        _text(row["child"]),
        _text(row["parent"]),
        NATURES[int(row["nature"])],
        _day(int(row["debut"])),
        _day(int(row["fin"])),
    )


def _text(packed: Any) -> str:
    return str(packed.decode("ascii"))


def _number(day: str | None) -> int:
    """A day as a number of eight digits, 0 for none."""
    return int(day.replace("-", "")) if day else 0


def _day(number: int) -> str | None:
    digits = f"{number:08}"
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" if number else None
