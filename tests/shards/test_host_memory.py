"""The memory that a process may take."""

from pathlib import Path

import pytest

from shards import host_memory

MIB = 1 << 20


def test_available_memory_is_limited_by_the_control_group_and_its_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least limit counts; an unknown memory of the machine is 0, or a default that the group limits."""
    machine, own_group = tmp_path / "meminfo", tmp_path / "cgroup"
    group = tmp_path / "fs" / "system.slice" / "societes.service"
    group.mkdir(parents=True)
    machine.write_text("MemTotal: 9 kB\nMemAvailable:  4096 kB\n")
    own_group.write_text("4:memory:/elsewhere\n0::/system.slice/societes.service\n")
    for name, path in (
        ("_MACHINE", machine),
        ("_OWN_GROUP", own_group),
        ("_GROUPS", tmp_path / "fs"),
    ):
        monkeypatch.setattr(host_memory, name, path)
    results = [host_memory.available_bytes()]
    (group / "memory.max").write_text("max\n")
    results.append(host_memory.available_bytes())
    (group.parent / "memory.max").write_text(f"{3 * MIB}\n")
    results.append(host_memory.available_bytes())
    (group / "memory.high").write_text(f"{MIB}\n")
    results.append(host_memory.available_bytes())
    machine.unlink()
    results += [host_memory.available_bytes(), host_memory.available_bytes(MIB // 2)]
    results.append(host_memory.available_bytes(9 * MIB))

    assert results == [4 * MIB, 4 * MIB, 3 * MIB, MIB, 0, MIB // 2, MIB]
