"""One module a source of raw samples."""
