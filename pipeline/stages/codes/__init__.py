"""Codes and words of registers as ours: activities as sectors (`sectors`), statuses as states (`statuses`)."""
