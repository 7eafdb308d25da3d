"""A cache of compiled kernels for these very sources.

numba does not see an edit in a file that a kernel's own file imports: new sources, new cache. The
Makefile names the same folder. It is set here, before anything imports numba.
"""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).parents[1]


def cache_folder() -> Path:
    """The folder below `.numba_cache` that the kernels' sources name."""
    sources = sorted(ROOT.glob("kernels/*.py"), key=lambda path: path.name)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    return ROOT / ".numba_cache" / digest.hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))
