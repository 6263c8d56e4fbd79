# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of Sphinx, which makes one set of pages of this directory: make doc."""

import re
from pathlib import Path

project = "sframe_unwind"
author = "the authors of sframe_unwind"
release = re.search('^PACKAGE_VERSION="(.*)"', (Path(__file__).parent.parent / "dkms.conf").read_text(), re.M)[1]
language = "en"
html_theme = "alabaster"
html_theme_options = {"page_width": "70em", "description": f"version {release}"}
html_copy_source = False
# The marks of tools/testing/lint/documents, and of tools/packaging/readme, are comments.
highlight_language = "none"
