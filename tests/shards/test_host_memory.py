"""The memory that a process may take."""

from pathlib import Path

import pytest

from shards import host_memory

MIB = 1 << 20


def test_a_control_group_and_those_above_say_how_much_memory_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, own = tmp_path / "meminfo", tmp_path / "cgroup"
    group = tmp_path / "fs" / "system.slice" / "societes.service"
    group.mkdir(parents=True)
    machine.write_text("MemTotal: 9 kB\nMemAvailable:  4096 kB\n")
    own.write_text("4:memory:/elsewhere\n0::/system.slice/societes.service\n")
    for name, path in (("_MACHINE", machine), ("_OWN_GROUP", own), ("_GROUPS", tmp_path / "fs")):
        monkeypatch.setattr(host_memory, name, path)
    found = [host_memory.available_bytes()]
    (group / "memory.max").write_text("max\n")
    found.append(host_memory.available_bytes())
    (group.parent / "memory.max").write_text(f"{3 * MIB}\n")
    found.append(host_memory.available_bytes())
    (group / "memory.high").write_text(f"{MIB}\n")
    found.append(host_memory.available_bytes())
    machine.unlink()
    found += [host_memory.available_bytes(), host_memory.available_bytes(MIB // 2)]
    found.append(host_memory.available_bytes(9 * MIB))

    assert found == [4 * MIB, 4 * MIB, 3 * MIB, MIB, 0, MIB // 2, MIB]
