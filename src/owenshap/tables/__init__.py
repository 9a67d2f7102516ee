"""One file per type of data, found by the name of its package."""

from owenshap.tables.base import Composer, Table, as_array, as_table, own_copy, row_ids

__all__ = ["Composer", "Table", "as_array", "as_table", "own_copy", "row_ids"]
