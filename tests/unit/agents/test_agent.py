"""Which collectors an agent starts with."""

from pulsetrain.agents.agent import supported_collectors
from pulsetrain.agents.collectors.base import Support
from tests.unit.agents.fakes import ScriptedCollector


class Unsupported(ScriptedCollector):
    def is_supported(self) -> Support:
        return Support(False, "no such device")


class Faulty(ScriptedCollector):
    def is_supported(self) -> Support:
        raise RuntimeError("bug")


def test_collectors_that_are_not_supported_or_faulty_are_left_out_with_the_reason_and_closed() -> None:
    good, absent, faulty = ScriptedCollector("cpu", ["a"]), Unsupported("gpu", ["b"]), Faulty("disk", ["c"])
    supported, reasons = supported_collectors([absent, faulty, good])
    assert supported == [good]
    assert reasons == {"gpu": "no such device", "disk": "RuntimeError: bug"}
    assert (good.closed, absent.closed, faulty.closed) == (False, True, True)
