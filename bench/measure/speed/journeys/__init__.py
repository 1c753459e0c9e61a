"""Whole journeys of a crowd, with the pauses in which people read and think, on connections that stay open.

All people come before the opening, look at the page of the sale and fetch a pass. In the first seconds of the sale they
reserve, as pages do. Buyers who hear yes wait for the order, open it and pay; the others leave.
"""
