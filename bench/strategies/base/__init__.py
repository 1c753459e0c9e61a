"""The base of the strategies: their interface, and a stock that is one counter."""
