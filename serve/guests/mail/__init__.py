"""Mail to members of organisations: texts (`messages`), what is still to be sent (`outbox`), sending (`smtp`)."""
