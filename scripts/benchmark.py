"""Time our operators against every peer that is installed: `onnx-maxpool bench`, from a copy of the repository.

python scripts/benchmark.py [--quick] [--rows TEXT] [--threads N] [--json FILE] [--plot DIR]
"""

from __future__ import annotations

import sys

from onnx_maxpool.cli import main

if __name__ == "__main__":
    main(["bench", *sys.argv[1:]])
