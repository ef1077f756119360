"""Measuring: what a step costs, what a method loses."""
