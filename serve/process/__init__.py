"""The processes of a server: their start, their sockets and their end.

Start at `worker`, one serving process; `workers` runs one or several and replaces those that die. `port` has the
listening sockets: those that systemd passes, or its own. `read_ahead` has shards read into memory after a start by the
process `file_reader`. `health` is a command of its own: the check of the image. `command` is
the command line.
"""
