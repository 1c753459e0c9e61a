"""`manage.py growth` on servers that are started for it alone, in .stampede/growth.

python -m bench.measure.growth [--past 1000 100000 1000000] [--sales 1000] [--json FILE]
"""

import sys

from bench.own_run import run_alone

if __name__ == "__main__":
    sys.exit(run_alone("growth", sys.argv[1:]))
