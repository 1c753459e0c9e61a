"""The steps that tests share, each under one name. A test reads as what is special about it."""
