"""The subjects of comparison: servers that do almost nothing, and views that sell from one row of PostgreSQL.

Views as many shops have them, without middleware, authentication and mails: everything that is left out makes them
faster. `hello.py` is no Django at all.
"""
