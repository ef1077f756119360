"""`kvteach map`: attention rows of a whole model, every rule, every budget."""
