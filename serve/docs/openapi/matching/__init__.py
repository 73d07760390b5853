"""What describes the matching of lists: `match_shapes` of `/rapprochement`, and `reconciliation`, whole."""
