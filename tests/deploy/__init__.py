"""Follow the pages of serve/deploy/ for operators, line by line, on a host with systemd.

Read `host` first: a host is a container with its own root and the programs of this machine. It has no network, so
the packages for pip are fetched before.
"""
