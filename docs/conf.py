"""The documentation as a site: `make docs` builds it into out/docs/index.html.

Its source is the repository itself, so that the links between pages, results and pictures are the
same ones as in the repository.
"""

import re
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx_gallery.sorting import FileNameSortKey

project = "owenshap"
author = "The owenshap authors"
copyright = author
version = release = version_of("owenshap")

extensions = [
    "myst_parser",  # pages in Markdown
    "sphinx.ext.autodoc",  # the reference, from docstrings
    "sphinx.ext.napoleon",  # in numpy's form
    "sphinx_gallery.gen_gallery",  # examples run, with their pictures
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "benchmarks/**.md",
    "reproduction/*.md",
    "CHANGELOG.md",
    "CITATION.cff",
]
exclude_patterns = ["docs/gallery/**.py", "docs/gallery/**.ipynb"]

html_theme = "furo"
html_title = "owenshap"
html_show_copyright = False

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
suppress_warnings = [
    "myst.header",  # results that begin below a first heading
    "config.cache",  # the gallery's settings hold classes
    "toc.not_included",  # tables of results, which pages link to
    "ref.python",  # words such as rows, which are the names of several attributes
]

default_role = "py:obj"  # `name` in docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what an argument is
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": ["examples/gallery"],
    "gallery_dirs": ["docs/gallery"],
    "filename_pattern": r"\.py$",  # all of them are run
    "within_subsection_order": FileNameSortKey,
    "copyfile_regex": r".*\.md",
    "capture_repr": (),  # what an example prints, not what its last line is
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 5,
}


def setup(app):
    """What the pages and docstrings need beside Sphinx's own."""

    # Docstrings are written to be read as text: |S| is a size there, not a substitution.
    def escape(app, what, name, obj, options, lines):
        lines[:] = [
            line if line.lstrip().startswith((">>>", "...")) else re.sub(r"\|", r"\\|", line)
            for line in lines
        ]

    def begin_at_the_root(app, exception):
        page = '<meta charset="utf-8"><meta http-equiv="refresh" content="0; url=docs/index.html">'
        Path(app.outdir, "index.html").write_text(page)

    app.connect("autodoc-process-docstring", escape)
    app.connect("build-finished", begin_at_the_root)
