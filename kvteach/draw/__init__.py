"""Figures and widgets of the book. Nothing is drawn or styled at import."""
