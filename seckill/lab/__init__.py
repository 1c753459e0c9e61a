"""The lab: each strategy of seckill/strategies sells the same stock to the same buyers, and is measured and judged."""
