"""What the strategies share: their interface, and a stock that is one counter."""
