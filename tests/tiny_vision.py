"""More tiny vision-language models with random weights: one of each kind that an alias names, beside those of ``tiny``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mmtests.fixtures.models import tiny

PLACEHOLDER = "<|image_pad|>"
_WRAPPED = "<|vision_start|><|image_pad|><|vision_end|>"
_BIG = {"initializer_range": 0.3}
"""Weights so large that replies differ."""
_TOWER = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 14, **_BIG
}  # fmt: skip
_GRID = [[56, 112], [112, 56], [112, 112]]
_SQUARE = {"height": 56, "width": 56}


def build(kind: str, folder: Path) -> Path:
    """Write a model of a kind: one of ``KINDS``."""
    import torch

    torch.manual_seed(7)
    folder.mkdir(parents=True, exist_ok=True)
    _BUILDERS[kind](folder)
    return folder


def _tokenizer(placeholder: str, *more: str) -> tuple[Any, str]:
    """A tokenizer of bytes whose chat template writes ``placeholder`` for a picture, and the template."""
    template = tiny._TEMPLATE.replace(_WRAPPED, placeholder)
    tokenizer = tiny._tokenizer(template)
    tokenizer.add_special_tokens({"additional_special_tokens": [placeholder, *more]})
    return tokenizer, template


def _text(tokenizer: Any, kind: str, **more: Any) -> dict[str, Any]:
    return {"model_type": kind, **tiny._text(tokenizer), **more}


def _qwen2_5_vl(folder: Path) -> None:
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    tokenizer = tiny._tokenizer(tiny._TEMPLATE)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    config: Any = Qwen2_5_VLConfig(
        text_config={**tiny._text(tokenizer), "rope_parameters": rope},
        vision_config={
            "depth": 2, "hidden_size": 32, "out_hidden_size": 64, "intermediate_size": 64, "num_heads": 2, "patch_size": 14,
            "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 56, "fullatt_block_indexes": [1], **_BIG,
        },
        image_token_id=tiny._id(PLACEHOLDER), video_token_id=tiny._id("<|video_pad|>"),
        vision_start_token_id=tiny._id("<|vision_start|>"), vision_end_token_id=tiny._id("<|vision_end|>"),
    )  # fmt: skip
    Qwen2VLImageProcessorPil(min_pixels=784, max_pixels=64 * 784).save_pretrained(folder)
    tiny._write(Qwen2_5_VLForConditionalGeneration(config), tokenizer, folder)


def _llava_next(folder: Path) -> None:
    from transformers import LlavaNextConfig, LlavaNextForConditionalGeneration, LlavaNextProcessor
    from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil

    tokenizer, template = _tokenizer(PLACEHOLDER)
    config: Any = LlavaNextConfig(
        vision_config={"model_type": "clip_vision_model", "image_size": 56, "projection_dim": 32, **_TOWER},
        text_config=_text(tokenizer, "llama"), image_token_index=tiny._id(PLACEHOLDER), vision_feature_layer=-1,
        vision_feature_select_strategy="default", image_grid_pinpoints=_GRID,
    )  # fmt: skip
    images = LlavaNextImageProcessorPil(size={"shortest_edge": 56}, crop_size=_SQUARE, image_grid_pinpoints=_GRID)
    tiny._write(LlavaNextForConditionalGeneration(config), tokenizer, folder)
    LlavaNextProcessor(
        image_processor=images, tokenizer=tokenizer, patch_size=14, vision_feature_select_strategy="default",
        image_token=PLACEHOLDER, num_additional_image_tokens=1, chat_template=template,
    ).save_pretrained(folder)  # fmt: skip


def _llava_onevision(folder: Path) -> None:
    from transformers import LlavaOnevisionConfig, LlavaOnevisionForConditionalGeneration
    from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil

    tokenizer, _ = _tokenizer(PLACEHOLDER)
    config: Any = LlavaOnevisionConfig(
        vision_config={"model_type": "siglip_vision_model", "image_size": 56, **_TOWER},
        text_config=_text(tokenizer, "qwen2"), image_token_index=tiny._id(PLACEHOLDER),
        video_token_index=tiny._id("<|video_pad|>"), vision_feature_layer=-1, vision_feature_select_strategy="full",
        vision_aspect_ratio="anyres_max_9", image_grid_pinpoints=_GRID,
    )  # fmt: skip
    LlavaOnevisionImageProcessorPil(size=_SQUARE, image_grid_pinpoints=_GRID).save_pretrained(folder)
    tiny._write(LlavaOnevisionForConditionalGeneration(config), tokenizer, folder)
    _processor(
        folder, "LlavaOnevisionProcessor", num_image_tokens=16, vision_feature_select_strategy="full",
        image_token=PLACEHOLDER, video_token="<|video_pad|>",
    )  # fmt: skip


def _idefics2(folder: Path) -> None:
    from transformers import Idefics2Config, Idefics2ForConditionalGeneration, Idefics2Processor
    from transformers.models.idefics2.image_processing_pil_idefics2 import Idefics2ImageProcessorPil

    tokenizer, template = _tokenizer("<image>", "<fake_token_around_image>", "<end_of_utterance>")
    perceiver = {
        "resampler_n_latents": 6, "resampler_depth": 1, "resampler_n_heads": 2, "resampler_head_dim": 16,
        "num_key_value_heads": 1, "hidden_size": 64,
    }  # fmt: skip
    config: Any = Idefics2Config(
        vision_config={"image_size": 112, **_TOWER}, perceiver_config=perceiver,
        text_config=_text(tokenizer, "mistral", sliding_window=None),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    images = Idefics2ImageProcessorPil(size={"shortest_edge": 56, "longest_edge": 112}, do_image_splitting=False)
    tiny._write(Idefics2ForConditionalGeneration(config), tokenizer, folder)
    Idefics2Processor(
        image_processor=images, tokenizer=tokenizer, image_seq_len=6, chat_template=template
    ).save_pretrained(folder)


def _internvl(folder: Path) -> None:
    from transformers import InternVLConfig, InternVLForConditionalGeneration
    from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil

    names = {
        "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }  # fmt: skip
    tokenizer, _ = _tokenizer("<IMG_CONTEXT>", "<img>", "</img>", "<video>")
    tokenizer._set_model_specific_special_tokens(names)
    config: Any = InternVLConfig(
        vision_config={**_TOWER, "image_size": [56, 56], "patch_size": [14, 14]}, text_config=_text(tokenizer, "qwen2"),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"), image_seq_length=4, vision_feature_layer=-1,
    )  # fmt: skip
    GotOcr2ImageProcessorPil(size=_SQUARE, crop_to_patches=True, min_patches=1, max_patches=4).save_pretrained(folder)
    tiny._write(InternVLForConditionalGeneration(config), tokenizer, folder)
    _processor(folder, "InternVLProcessor", image_seq_length=4)


def _mllama(folder: Path) -> None:
    """Llama-3.2-Vision: pictures are seen by layers of their own, which look across from the text."""
    import torch
    from transformers import MllamaConfig, MllamaForConditionalGeneration, MllamaProcessor
    from transformers.models.mllama.image_processing_pil_mllama import MllamaImageProcessorPil

    tokenizer, template = _tokenizer("<|image|>")
    tokenizer.add_special_tokens({"bos_token": "<|im_start|>"})
    text = {**tiny._text(tokenizer), "bos_token_id": 1, "vocab_size": len(tokenizer) - 1, "num_hidden_layers": 4}
    config: Any = MllamaConfig(
        vision_config={
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_global_layers": 1, "attention_heads": 2,
            "image_size": 56, "patch_size": 14, "max_num_tiles": 4, "vision_output_dim": 96,
            "intermediate_layers_indices": [0, 1], **_BIG,
            "supported_aspect_ratios": [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]],
        },
        text_config={
            **text, "cross_attention_layers": [1, 3], "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}
        },
        image_token_index=tokenizer.convert_tokens_to_ids("<|image|>"),
    )  # fmt: skip
    model = MllamaForConditionalGeneration(config)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "gate" in name and weights.numel() == 1:
                weights.fill_(1.0)  # zero to begin with, so that nothing would be seen
    tiny._write(model, tokenizer, folder)
    images = MllamaImageProcessorPil(size=_SQUARE, max_image_tiles=4)
    MllamaProcessor(image_processor=images, tokenizer=tokenizer, chat_template=template).save_pretrained(folder)


def _deepseek_vl(folder: Path) -> None:
    from transformers import DeepseekVLHybridConfig, DeepseekVLHybridForConditionalGeneration, DeepseekVLHybridProcessor
    from transformers.models.deepseek_vl_hybrid.image_processing_pil_deepseek_vl_hybrid import (
        DeepseekVLHybridImageProcessorPil,
    )

    tokenizer, template = _tokenizer("<image_placeholder>")
    tokenizer._set_model_specific_special_tokens({"image_token": "<image_placeholder>"})
    tower = {
        "model_type": "siglip_vision_model",
        **_TOWER,
        "image_size": 64,
        "patch_size": 16,
        "vision_use_head": False,
    }
    config: Any = DeepseekVLHybridConfig(
        vision_config=tower,
        high_res_vision_config={
            "model_type": "sam_vision_model", "hidden_size": 32, "output_channels": 16, "num_hidden_layers": 2,
            "num_attention_heads": 2, "image_size": 256, "patch_size": 16, "window_size": 4, "global_attn_indexes": [1],
            "mlp_dim": 64, "num_pos_feats": 8,
        },
        text_config=_text(tokenizer, "llama"), image_token_id=tokenizer.convert_tokens_to_ids("<image_placeholder>"),
    )  # fmt: skip
    images = DeepseekVLHybridImageProcessorPil(
        size={"height": 64, "width": 64}, high_res_size={"height": 256, "width": 256}
    )
    tiny._write(DeepseekVLHybridForConditionalGeneration(config), tokenizer, folder)
    DeepseekVLHybridProcessor(
        image_processor=images, tokenizer=tokenizer, num_image_tokens=16, chat_template=template
    ).save_pretrained(folder)


def _processor(folder: Path, kind: str, **settings: Any) -> None:
    """What the processor would write itself, if it could be made without torchvision."""
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": kind, **settings}))


_BUILDERS: Mapping[str, Callable[[Path], object]] = {
    "qwen2_vl": partial(tiny.build, "qwen2vl"),
    "llava": partial(tiny.build, "llava"),
    "qwen2_5_vl": _qwen2_5_vl,
    "llava_next": _llava_next,
    "llava_onevision": _llava_onevision,
    "idefics2": _idefics2,
    "internvl": _internvl,
    "mllama": _mllama,
    "deepseek_vl": _deepseek_vl,
}
KINDS = tuple(_BUILDERS)
