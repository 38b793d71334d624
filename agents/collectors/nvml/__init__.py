"""NVIDIA GPUs through NVML: nothing here sets or resets anything on a device.

The way of a value and of an event, module by module:

- `collectors` makes two collectors on one driver; each round, `collector` asks who is there, what they say and what
  has happened.
- `driver`: the library from initialisation to shutdown; `gate` lets nothing shut it down under a call, `library` names
  the calls that are allowed, `support` says whether there is any, `restarts` when to begin anew.
- `fleet` asks all GPUs at once; `crew` gives each that hangs a thread of its own.
- `gpu_reader`: what one GPU and its MIG devices are asked. Its parts `calls`, `field_values`, `gpm`, `nvlink` and
  `processes` each add to a `reading`.
- `identity` says who a GPU is, `inventory` who is lost and who has returned.
- `xids` joins the events of `xid_events` (NVML) and `kernel_log`; `xid_codes` says what they mean.
"""
