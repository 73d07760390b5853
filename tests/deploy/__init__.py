"""The pages of serve/deploy/ for the person who runs the program, line by line, on a host with systemd.

Read `host` first: a host is a container with a root of its own and the programs of this machine. It has no network, so
what pip installs was fetched before.
"""
