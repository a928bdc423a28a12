"""The strategy in the page on rate limits spaces requests as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncsink import AsyncSinkWriterConfig, ConfigurationError, RateLimit, RequestInfo, ResultInfo

DOCUMENT = Path(__file__).resolve().parents[1] / "explanation" / "limiting.md"


def test_the_strategy_loads_by_its_path_and_waits_longer_after_a_throttle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spaced.py").write_text(DOCUMENT.read_text().split("```python\n")[1].split("```")[0])
    monkeypatch.syspath_prepend(str(tmp_path))
    strategy = RateLimit.custom("spaced:Spaced", gap_s=0.1, entries=100).make(AsyncSinkWriterConfig())
    request = RequestInfo(100, 5000, 7.0)
    assert (strategy.delay_s(request), strategy.should_block(request), strategy.max_batch_size) == (0.0, False, 100)
    strategy.register_in_flight_request(request)
    assert strategy.delay_s(request) == pytest.approx(0.1)
    strategy.register_completed_request(ResultInfo(100, 5000, 100, 100, 7.0, 8.0, None))
    strategy.register_in_flight_request(request._replace(now_s=8.0))
    assert strategy.delay_s(request._replace(now_s=8.0)) == pytest.approx(0.11)
    with pytest.raises(ConfigurationError, match=r"spaced:Spaced.*refuses its arguments"):
        RateLimit.custom("spaced:Spaced").make(AsyncSinkWriterConfig())


def test_the_page_names_every_kind() -> None:
    text = DOCUMENT.read_text()
    assert [kind for kind in ("paced", "aimd", "flink", "adaptive", "fixed", "none") if f"| `{kind}`" not in text] == []
    assert AsyncSinkWriterConfig().rate_limit == RateLimit.aimd()
    assert "`aimd`, the default" in text
