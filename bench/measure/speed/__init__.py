"""`make bench`: how fast the shop answers, as ratios to servers that do almost nothing.

Follow it from `bench/management/commands/speed_bench.py`: the servers, the rounds, the parts of each round, and what is
computed from their figures.
"""
