"""What becomes of the rest? One small file per rule: evicted keys -> what stands for them."""
