"""Thousands of products, people and orders of the last months, for trying out long lists: `manage.py load_many`."""
