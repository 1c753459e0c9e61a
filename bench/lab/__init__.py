"""The lab: each strategy of bench/strategies sells the same stock to the same buyers, and is measured and judged."""
