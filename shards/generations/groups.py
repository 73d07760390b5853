"""Groups of a generation: which LEI consolidates which, in one file of fixed rows (extension X12, FORMAT.md §13).

A row is a relationship from a child to a parent. Rows ascend by child, kind and parent; `by_parent` of row n is the
row that is n-th by parent, kind and child. So both directions are a binary search in the mapped file. A build without
relationships has no file. `groups.json` lists the sources of the relationships.
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
# A row of the file: the LEI of child and parent, the index of the kind in NATURES, the days of begin and end as numbers
# yyyymmdd (0: unknown), and an entry of the index `by_parent`.
_ROW: Final = np.dtype(
    [("child", "S20"), ("parent", "S20"), ("nature", "u1"), ("debut", "<u4"), ("fin", "<u4"),
     ("by_parent", "<u4")]
)  # fmt: skip


class Relationship(NamedTuple):
    """A relationship; its dates are in ISO form, None if unknown."""

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
        """The relationships in which this LEI is the child, by kind; the rows are in the order of children."""
        first_index = bisect_left(
            range(len(self.rows)), lei, key=lambda index: _ascii_text(self.rows[index]["child"])
        )
        for index in range(first_index, len(self.rows)):
            relationship = _relationship(self.rows[index])
            if relationship.child != lei:
                return
            yield relationship

    def children(
        self, lei: str, nature: str, most: int | None = None, *, ended: bool = False
    ) -> list[Relationship]:
        """The relationships of a kind in which this LEI is the parent, by child; the first `most`.

        Args:
            ended: return the relationships that have ended, not the present ones.
        """
        return [_relationship(self.rows[row]) for row in self._children(lei, nature, ended)[:most]]

    def count_children(self, lei: str, nature: str) -> int:
        """The number of present relationships of a kind in which this LEI is the parent."""
        return len(self._children(lei, nature, ended=False))

    def _children(self, lei: str, nature: str, ended: bool) -> NDArray[np.uint32]:
        """The row numbers of the relationships of a kind in which this LEI is the parent.

        Only the ended relationships if `ended`, else only the present ones. `by_parent` lists the rows in the order of
        parents, so these rows are found by binary search.
        """
        indexes = range(len(self.rows))
        target = (lei, NATURES.index(nature))

        def parent_and_nature(index: int) -> tuple[str, int]:
            """The parent and the kind of the row that `by_parent` has at `index`."""
            row = self.rows[int(self.rows[index]["by_parent"])]
            return _ascii_text(row["parent"]), int(row["nature"])

        span = slice(
            bisect_left(indexes, target, key=parent_and_nature),
            bisect_right(indexes, target, key=parent_and_nature),
        )
        rows: NDArray[np.uint32] = self.rows["by_parent"][span]
        selected: NDArray[np.uint32] = rows[(self.rows["fin"][rows] != 0) == ended]
        return selected


NO_GROUPS: Final = Groups(np.empty(0, _ROW))


def write(path: Path, relationships: Iterable[Relationship]) -> None:
    """Write relationships, given in any order, to the file `path`; duplicates are written once.

    Rows are in the order of children; the column `by_parent` lists them in the order of parents.
    """
    unique = sorted(set(relationships), key=_child_key)
    rows = np.zeros(len(unique), _ROW)
    for index, relationship in enumerate(unique):
        nature = NATURES.index(relationship.nature)
        rows[index] = (
            relationship.child,
            relationship.parent,
            nature,
            _day_number(relationship.debut),
            _day_number(relationship.fin),
            0,
        )
    order = sorted(range(len(unique)), key=lambda index: _parent_key(unique[index]))
    rows["by_parent"] = order
    with path.open("wb") as file:
        np.save(file, rows, allow_pickle=False)


def read(path: Path) -> Groups:
    """The groups in the file `path`, mapped; NO_GROUPS if there is no file.

    Raises:
        CorruptError: the file is damaged, or has another format.
    """
    try:
        with np.errstate(over="raise"):  # a damaged number of rows can overflow
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        return NO_GROUPS
    except (ValueError, OSError, ArithmeticError, EOFError) as error:
        raise CorruptError(f"{path} cannot be read ({error}); build or fetch it again") from error
    if rows.dtype != _ROW or rows.ndim != 1:
        raise CorruptError(f"{path} has rows of {rows.dtype}, not of this format; build it again")
    return Groups(rows)


def check_values(groups: Groups) -> None:
    """Check that each row refers to existing rows and kinds, and has ASCII identifiers. The order is not checked.

    Raises:
        CorruptError: a row fails the check.
    """
    rows = groups.rows
    identifiers = np.concatenate([rows["child"], rows["parent"]]).view(np.uint8)
    if (
        (rows["by_parent"] >= len(rows)).any()
        or (rows["nature"] >= len(NATURES)).any()
        or (identifiers >= 0x80).any()
    ):
        raise CorruptError(f"{GROUPS} has a row that refers to nothing; build or fetch it again")


def check_order(groups: Groups) -> None:
    """Check the order of the rows, and that of `by_parent`; slow, because every row is decoded.

    Raises:
        CorruptError: names the first row that is out of order.
    """
    rows = [_relationship(row) for row in groups.rows]
    order = groups.rows["by_parent"].tolist()
    by_parent = [rows[index] for index in order if index < len(rows)]
    if sorted(order) != list(range(len(rows))):
        raise CorruptError(f"{GROUPS}: by_parent does not have every row once; build it again")
    for name, relationships, key in (
        ("child", rows, _child_key),
        ("parent", by_parent, _parent_key),
    ):
        for before, after in pairwise(relationships):
            if key(before) >= key(after):
                raise CorruptError(
                    f"{GROUPS}: {after} is not in the order of its {name}; build it again"
                )


def _child_key(relationship: Relationship) -> tuple[Any, ...]:
    """The sort key of relationships in the file: by child, nature, parent, beginning and end."""
    return (
        relationship.child,
        NATURES.index(relationship.nature),
        relationship.parent,
        relationship.debut or "",
        relationship.fin or "",
    )


def _parent_key(relationship: Relationship) -> tuple[Any, ...]:
    """The sort key of the rows in the order of `by_parent`: by parent, nature, child, beginning and end."""
    return (
        relationship.parent,
        NATURES.index(relationship.nature),
        relationship.child,
        relationship.debut or "",
        relationship.fin or "",
    )


def _relationship(row: np.void) -> Relationship:
    """The relationship that a row of the file encodes."""
    return Relationship(
        _ascii_text(row["child"]),
        _ascii_text(row["parent"]),
        NATURES[int(row["nature"])],
        _iso_day(int(row["debut"])),
        _iso_day(int(row["fin"])),
    )


def _ascii_text(packed: Any) -> str:
    """The text of an identifier in a row."""
    return str(packed.decode("ascii"))


def _day_number(day: str | None) -> int:
    """A day in ISO form as a number yyyymmdd, 0 for None."""
    return int(day.replace("-", "")) if day else 0


def _iso_day(number: int) -> str | None:
    """A number yyyymmdd as a day in ISO form, None for 0."""
    digits = f"{number:08}"
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" if number else None
