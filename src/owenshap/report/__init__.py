"""One HTML file that says what mattered, how sure that is, and why each row got its prediction.

It holds its data, needs no network, opens from disk and prints; jinja2 writes it.
"""

from owenshap.report.writing import Page, page, write

__all__ = ["Page", "page", "write"]
