"""The processes of a server: their start, their sockets and their end.

Start at `worker`, a serving process; `workers` runs one or several, and replaces workers that die. `port` has the
listening sockets, from systemd or bound here. After a start, `read_ahead` lets the process `file_reader` read shards
into memory. `health` is a separate command: the health check of the image. `command` is the command line.
"""
