"""NVIDIA GPUs through NVML: nothing here sets or resets anything on a device."""
