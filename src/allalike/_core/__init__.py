"""Private foundations of all packages: blocks, columns, masks, output, options, registry."""
