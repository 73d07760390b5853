"""The processes of a server: their start, their sockets, their end and their successors.

Start at `worker`, one serving process; `workers` runs one or several and replaces those that die. `port` binds the
listening sockets, `handover` passes them to the successor of a server (`--take-over`). `read_ahead` has shards read
into memory after a start by the process `file_reader`, `page_tables` maps them. `health` is a command of its own: the
check of the image. `command` is the command line.
"""
