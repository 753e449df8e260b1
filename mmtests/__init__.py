"""What is measured: the vocabulary of the suite, and one folder for each benchmark. Free of pytest, HTTP and torch."""

__version__ = "0.1.0"
