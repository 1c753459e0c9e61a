"""The servers that the lab starts for itself, and clients of them."""
