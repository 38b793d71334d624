"""`pulsetrain demo`: the whole loop on this machine, with real faults, judged and shown."""
