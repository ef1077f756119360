"""kvteach: KV-cache compression for language models, from first principles.

The package follows the four questions that every compressor answers: which
keys (scores), how many per head (budgets), what is held (caches), and what
becomes of the rest (compensate). Importing it does no work: modules are
loaded when they are named.
"""

__version__ = "0.1.0"
