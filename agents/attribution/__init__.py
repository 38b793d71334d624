"""Whom a process, a control group or a device works for: job, rank, pod, namespace and container (decision 0013).

The labels are plain names that all sources share: `job`, `rank`, `namespace`, `pod`, `container`, `pod_uid` and
`container_id`.
"""
