"""The documentation site: `sphinx-build -W --keep-going -n docs build/site`.

Pages are Markdown that reads well in the repository too: links are relative paths. The API's pages come from the
docstrings, and the tables from scripts/write_docs.py.
"""

from __future__ import annotations

import importlib.metadata
import posixpath
import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent

project = "onnx-maxpool"
author = "the onnx-maxpool contributors"
copyright = f"2026, {author}"
release = importlib.metadata.version("onnx-maxpool")
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}

smartquotes = False  # `--option` in a sentence is two hyphens

html_theme = "furo"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "source_repository": "https://github.com/onnx-maxpool/onnx-maxpool",
    "source_branch": "main",
    "source_directory": "docs/",
}
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 4
# The parts of a page that GitHub shows too, and nothing else.
myst_enable_extensions = ["fieldlist"]

# Docstrings are sentences with `names` in them.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True

# What other packages document, the site does not link: it is built without a network.
nitpick_ignore_regex = [
    ("py:.*", r"(collections|np|npt|numpy|onnx|onnxruntime|openvino|ort|os|pathlib|torch|typing|unittest)\b.*"),
    ("py:.*", r"(Axes|OpRun|ReferenceEvaluator)"),
    # Types of signatures that are no part of the API.
    ("py:.*", r"(Array|Integers|Windows|Model|Providers|Implementation|BinEdges|PythonFunction)"),
    ("py:.*", r"onnx_maxpool\.(conformance\.(case|run)|types)\..*"),
]

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

# External links are checked by a command of their own, where there is a network: see CONTRIBUTING.md.
linkcheck_timeout = 30
linkcheck_workers = 4
linkcheck_anchors = False

ROOT_FILES = {
    "project/contributing": "CONTRIBUTING.md",
    "project/changelog": "CHANGELOG.md",
    "project/security": "SECURITY.md",
}
"""Pages that are files of the repository's root, where people look for them."""


HIDDEN = re.compile(r"^<!-- (\{[\w-]+\}\n.*?)^-->$", re.DOTALL | re.MULTILINE)
"""A directive in a comment: what only the site understands, GitHub does not show."""


def show_directives(app: Sphinx, name: str, source: list[str]) -> None:
    """Put directives in place of the comments that hide them."""
    source[0] = HIDDEN.sub(r"```\1```", source[0])


def read_root_file(app: Sphinx, name: str, source: list[str]) -> None:
    """Put a root file's text in place of its page, with links that are relative to the page."""
    if name not in ROOT_FILES:
        return
    app.env.note_dependency(str(ROOT / ROOT_FILES[name]))
    folder = posixpath.join("docs", posixpath.dirname(name))
    pages = {file: f"docs/{page}.md" for page, file in ROOT_FILES.items()}

    def relative(link: re.Match[str]) -> str:
        target, _, anchor = link[1].partition("#")
        path = posixpath.relpath(pages.get(target, target), folder)
        return f"]({path}{'#' * bool(anchor)}{anchor})"

    source[0] = re.sub(r"\]\((?!https?:|#)([^)\s]+)\)", relative, (ROOT / ROOT_FILES[name]).read_text())


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("source-read", read_root_file)
    app.connect("source-read", show_directives)
    return {"parallel_read_safe": True}
