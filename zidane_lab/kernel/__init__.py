"""The live kernel: run code with complete evidence, interrupt it, look at its variables."""
