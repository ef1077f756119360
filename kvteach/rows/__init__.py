"""Mathematics of one attention row under renormalisation, in float64.

Nothing in here knows a model: a row is a vector of weights and a matrix of
values.
"""
