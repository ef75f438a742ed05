# SPDX-License-Identifier: Apache-2.0
"""How Sphinx reads this folder: Markdown pages with MyST, drawn with furo."""

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent

project = "Warploom"
author = "The Warploom authors"
copyright = author  # the name is Sphinx's
# The version is declared once, in the root CMakeLists.txt.
release = re.search(r"project\(warploom VERSION (\S+)", (_ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)

extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
exclude_patterns = ["Thumbs.db", ".DS_Store"]
# Pages point at files of the repository, which are not pages.
suppress_warnings = ["myst.xref_missing"]

html_theme = "furo"
html_title = f"Warploom {release}"
