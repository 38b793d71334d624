"""What the exporters of others call the metrics of the catalogue."""

from collections.abc import Mapping

from pulsetrain.schemas.catalogue.exporters.cadvisor import CADVISOR_NAMES
from pulsetrain.schemas.catalogue.exporters.dcgm import DCGM_NAMES
from pulsetrain.schemas.catalogue.exporters.mapping import CanonicalName
from pulsetrain.schemas.catalogue.exporters.node_exporter import NODE_EXPORTER_NAMES
from pulsetrain.schemas.catalogue.exporters.triton import TRITON_NAMES

__all__ = ["SOURCE_NAMES", "CanonicalName", "canonical_name"]

SOURCE_NAMES = {**DCGM_NAMES, **CADVISOR_NAMES, **NODE_EXPORTER_NAMES, **TRITON_NAMES}
"""All names that exporters give to what is in the catalogue."""

_NO_LABELS: Mapping[str, str] = {}


def canonical_name(source_name: str, labels: Mapping[str, str] = _NO_LABELS) -> CanonicalName | None:
    """What an exporter's series is called here; None if its name is not in the table, or its labels are not meant.

    Sentinels have to be taken out before values are scaled.
    """
    return next((name for name in SOURCE_NAMES.get(source_name, ()) if name.means(labels)), None)
