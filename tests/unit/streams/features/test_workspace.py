"""Memory that is lent to one batch after another."""

from pulsetrain.streams.features.workspace import Workspaces


def test_memory_is_used_again_up_to_the_kept_size_and_not_kept_above() -> None:
    workspaces = Workspaces(kept_samples=100)
    usual = workspaces.lend((4, 25))
    long = workspaces.lend((1, 101))
    assert long.centred.shape == long.temporary.shape == (1, 101)
    assert workspaces.lend((4, 25)) is usual
    assert workspaces.lend((1, 101)) is not long
