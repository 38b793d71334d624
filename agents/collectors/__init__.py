"""What reads a source of raw samples: one module or package a source."""
