"""Array forests: nodes, leaves, blocks, workspaces and rendering that several kinds of forests share."""
