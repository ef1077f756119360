"""`kvteach compare`: methods, budgets, tasks and conditions on the same documents."""
