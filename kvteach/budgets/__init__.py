"""How many per head? One small file per rule: scores of layers -> kept keys."""
