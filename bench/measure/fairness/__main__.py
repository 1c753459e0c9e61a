"""`manage.py fairness` on servers that are started for it alone, in .stampede/fairness.

python -m bench.measure.fairness [--accounts 1 100 1000] [--honest 1000] [--units 100] [--rounds 3] [--seed 1]
"""

import sys

from bench.own_run import run_alone

if __name__ == "__main__":
    sys.exit(run_alone("fairness", sys.argv[1:]))
