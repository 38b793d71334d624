"""Which features tell: steady while all is well, different while it is not, and in time."""
