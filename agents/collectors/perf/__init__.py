"""Performance counters of the processor, through one long-lived `perf stat`."""
