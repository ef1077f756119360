"""What is stored, and the bytes that it really holds."""
