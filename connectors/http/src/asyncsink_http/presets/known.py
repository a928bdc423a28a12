"""The presets by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from asyncsink_http.presets.elasticsearch import ELASTICSEARCH
from asyncsink_http.presets.preset import Preset
from asyncsink_http.presets.splunk_hec import SPLUNK_HEC

PRESETS: Final[Mapping[str, Preset]] = {"elasticsearch": ELASTICSEARCH, "splunk-hec": SPLUNK_HEC}
