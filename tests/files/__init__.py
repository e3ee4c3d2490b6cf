"""Files for tests: plain ones, exports of tools, tables of Arrow, data sets that are here, and what is read of them."""
