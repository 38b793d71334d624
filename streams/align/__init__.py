"""From raw samples to equidistant series: impossible values out, counters to rates, gaps filled within limits."""
