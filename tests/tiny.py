"""A tiny chat model with random weights, built in a moment: real code paths, no download."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + TEMPLATE


def build_tiny_model(
    folder: Path, template: str | None = TEMPLATE, context: int = 512, window: int | None = None
) -> Path:
    """Write a Llama of two layers over ASCII, in float32, with its tokenizer.

    Args:
        template: the chat template; None for a base model.
        context: tokens.
        window: tokens that a layer sees, for a Mistral with sliding windows in place of the Llama.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, PreTrainedTokenizerFast

    special = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    # Only what survives the way to text and back; the two letters that are not ASCII stand for space and line break.
    alphabet = sorted(
        letter for letter in pre_tokenizers.ByteLevel.alphabet() if letter.isascii() or letter in "\u0120\u010a"
    )
    core = Tokenizer(models.BPE({token: n for n, token in enumerate([*special, *alphabet])}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(special)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|end|>", pad_token="<|end|>")
    tokenizer.chat_template = template
    torch.manual_seed(7)
    sliding = {} if window is None else {"sliding_window": window}
    config = (MistralConfig if sliding else LlamaConfig)(
        vocab_size=len(special) + len(alphabet), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=context, eos_token_id=0, pad_token_id=0,
        bos_token_id=None, initializer_range=0.4, **sliding,
    )  # fmt: skip
    model = (MistralForCausalLM if sliding else LlamaForCausalLM)(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
