"""Which keys? One small file per scoring rule: (`Layer` of one sequence) -> [K, S]."""
