from pulsetrain.agents.attribution.container_logs import labels_in_log_names

ID = "c0ffee" * 10 + "abcd"


def test_a_log_name_has_pod_namespace_container_and_id() -> None:
    names = [
        f"llama-worker-0_research_pytorch-main-{ID}.log",
        f"kube-proxy.v2_kube-system_kube-proxy-{'a' * 64}.log",
    ]
    assert labels_in_log_names(names) == {
        ID: {"pod": "llama-worker-0", "namespace": "research", "container": "pytorch-main"},
        "a" * 64: {"pod": "kube-proxy.v2", "namespace": "kube-system", "container": "kube-proxy"},
    }


def test_other_names_are_passed_over() -> None:
    names = ["", "syslog", f"pod_{ID}.log", f"a_b_c_d-{ID}.log", f"pod_ns_main-{ID[:-1]}.log", f"Pod_ns_main-{ID}.log"]
    assert labels_in_log_names(names) == {}
