"""The parts of the documentation that are taken from the code, one function each."""
