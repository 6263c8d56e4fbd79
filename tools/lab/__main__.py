# SPDX-License-Identifier: GPL-2.0-or-later
"""The command tools/lab/lab."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])
from lab.command import main  # noqa: E402

sys.exit(main())
