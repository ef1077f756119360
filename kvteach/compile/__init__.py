"""Made offline, once a model: gates and tables that compression reads at run time."""
