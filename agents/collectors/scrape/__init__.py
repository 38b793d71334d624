"""Endpoints of other programs: what dcgm-exporter, cAdvisor, node_exporter or Triton expose (decision 0012)."""

from pulsetrain.agents.collectors.scrape.settings import ScrapeTarget, check_targets

__all__ = ["ScrapeTarget", "check_targets"]
