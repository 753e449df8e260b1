"""What the paper prints, to compare with."""

from __future__ import annotations

from collections.abc import Mapping

from mmtests.mmdu.tasks import DIMENSIONS

_PRINTED = {
    "Qwen-VL-Max": (40.3, 40.2, 46.2, 62.5, 51.6, 45.9, 46.9),
    "Claude3-Opus": (58.6, 61.5, 59.7, 75.1, 64.1, 59.8, 62.6),
    "GPT-4-turbo": (62.0, 64.2, 63.4, 78.0, 69.0, 64.4, 66.3),
    "GPT-4o": (63.7, 69.6, 66.7, 80.6, 73.3, 68.1, 70.2),
    "Monkey": (11.9, 12.0, 14.8, 21.9, 19.6, 14.6, 14.1),
    "Idefics2": (17.8, 17.6, 27.9, 43.1, 32.8, 26.9, 25.4),
    "LLaVa1.5-7B": (27.8, 28.0, 33.2, 43.0, 35.4, 31.7, 32.2),
    "Deepseek-VL": (27.3, 27.7, 31.2, 38.7, 33.2, 30.0, 30.8),
    "MiniCPM-v-2.5": (27.0, 26.4, 33.2, 48.9, 38.6, 32.2, 33.0),
    "Yi-VL": (31.7, 32.2, 30.6, 47.5, 34.0, 30.0, 33.2),
    "LLaVa1.5-13B": (31.5, 31.2, 35.1, 46.2, 38.1, 34.3, 35.3),
    "InternVL-Chat-V1.5": (31.2, 31.5, 37.4, 52.6, 41.7, 36.1, 37.4),
    "InternLM-XC2": (29.7, 29.5, 36.2, 50.1, 40.3, 35.2, 35.6),
    "Qwen-VL-7B": (33.4, 33.6, 39.2, 53.8, 43.1, 38.1, 39.3),
    "LLaVa1.6-mistral": (37.7, 39.3, 41.4, 57.2, 45.6, 40.2, 42.8),
    "LLaVa 1.5 + MMDU-45k": (34.3, 34.5, 36.7, 47.2, 38.5, 35.5, 37.2),
    "InternLM-XC2 + MMDU-45k": (45.6, 43.9, 49.9, 64.1, 53.0, 48.7, 50.1),
}

TABLE_2: Mapping[str, Mapping[str, float]] = {
    model: dict(zip((*DIMENSIONS, "Avg."), figures, strict=True)) for model, figures in _PRINTED.items()
}
"""Table 2, by model, in percent: judge GPT-4o, which sees the images. The rows of differences are left out."""
