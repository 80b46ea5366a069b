"""The command line: ``jupyter zidane …``."""
