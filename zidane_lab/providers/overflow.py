"""Recognising that a conversation no longer fits, in the words of every service.

There is no common status or code for it, so the words decide. A false alarm would compact a conversation for
nothing, and a miss would end it; hence two near misses are told apart by the numbers services quote: a limit on
tokens *per minute*, which passes by waiting, and a limit on the *answer*, which is a setting.

The sentences were collected from what users of the services reported, up to November 2026.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CONTEXT_EXCEEDED", "is_context_exceeded"]

_TOO_LONG: Final = (
    # Anthropic, Bedrock, Vertex, Fireworks; Ollama and Z.ai without the verb
    r"prompt (?:is )?too long",
    r"exceed context limit",
    r"request exceeds the maximum (?:size|allowed number of bytes)",
    r"request_too_large",
    # OpenAI, Azure, DeepSeek, OpenRouter, vLLM, SGLang, Groq, Cerebras, and whoever copies them
    r"maximum context length",
    r"exceed(?:s|ed)? (?:(?:the|this|your|its|max|maximum|available|model'?s?) )*context (?:window|length|size|limit)",
    r"context[ _](?:length|window|size)[ _](?:has been |was |is )?exceed",
    r"ContextWindowExceeded",  # LiteLLM
    r"input tokens exceed the configured limit",
    r"reduce the length of the (?:input )?(?:messages|prompt|input)",
    r"'(?:messages|input)(?:\[\d+\][^']{0,40})?': (?:string|array) too long",
    # vLLM, SGLang, Together
    r"longer than the (?:maximum )?(?:model'?s? )?(?:context |model )?length",
    r"prompt \((?:total )?length \d+\) is too long|input prompt \(\d+ tokens\) is too long|max_model_len",
    r"input length.{0,40}exceeds.{0,30}(?:maximum|context)",
    # Text Generation Inference, Together, Hugging Face
    r"`?inputs`? tokens \+ `?max_new_tokens`? must be",
    r"`?inputs`? must have less than \d+ tokens",
    r"input is too long for (?:the |this )?(?:requested )?model",  # also Bedrock
    r"too many input tokens",  # Bedrock
    # llama.cpp, llama-cpp-python, LM Studio, DS4
    r"exceed_context_size_error",
    r"greater than the context length|when context (?:the )?overflows|reached context length of",
    r"prompt has [\d,]+ tokens?, but the configured context size",
    # Gemini and Vertex
    r"input token count.{0,40}exceeds the maximum|input token count is \d+ but (?:the )?model only supports",
    r"request payload size exceeds",
    # the others
    r"maximum prompt length is \d+",  # xAI
    r"too large for model with \d+ maximum context length",  # Mistral
    r"too many tokens: |total number of tokens.{0,60}cannot exceed",  # Cohere
    r"range of input length should be",  # Qwen
    r"exceed(?:s|ed)? (?:the )?model(?:'s)? (?:token|context) (?:limit|window)",  # Moonshot
    r"total message size \d+ exceeds",  # Moonshot
    r"context window exceeds limit",  # MiniMax
    r"prompt exceeds (?:the )?max(?:imum)? (?:context )?length",  # Zhipu, mlx
    r"prompt token count (?:of|is)? ?\(?\d+\)? (?:exceeds the limit|cannot exceed)",  # Copilot, Databricks
    r"number of input tokens \d+ cannot exceed",  # watsonx
    r"length of all messages is too long",  # Perplexity
    r"超[过出].{0,12}(?:上下文|最大)长度",  # Zhipu, Qwen
)
CONTEXT_EXCEEDED: Final = re.compile("|".join(_TOO_LONG), re.IGNORECASE | re.DOTALL)
"""Sentences that mean the conversation no longer fits, across vendors."""

_PER_TIME: Final = re.compile(
    r"tokens? per (?:min|hour|day)|per[- ]minute|\b[IO]?TP[MDH]\b|rate limit (?:of|reached|exceeded)"
    r"|throttl|too many requests",
    re.IGNORECASE,
)
_ALLOWANCE: Final = re.compile(r"limit:? (\d[\d,]{0,20}), requested:? (\d[\d,]{0,20})", re.IGNORECASE)
_LIMIT: Final = re.compile(r"maximum context length (?:is|of) ([\d,]+)|must be <= ([\d,]+)|> ([\d,]+)", re.IGNORECASE)
_INPUT: Final = re.compile(
    r"\(([\d,]+) (?:in the messages|in your prompt|of text input)|request has ([\d,]+) input tokens"
    r"|: ([\d,]+) tokens from the input|given: ([\d,]+) `?inputs|context limit: ([\d,]+) \+",
    re.IGNORECASE,
)


def is_context_exceeded(status: int | None, text: str) -> bool:
    """Tell whether an answer means that the conversation no longer fits.

    Parameters
    ----------
    status
        HTTP status; 413 always means it.
    text
        What the service said, its codes included.
    """
    if status == 413:
        return True
    if _PER_TIME.search(text):
        # More than the whole allowance of a minute: no waiting helps, a shorter conversation does.
        allowance = _ALLOWANCE.search(text)
        if allowance is None:
            return False
        limit, requested = (int(number.replace(",", "")) for number in allowance.groups())
        return requested > limit
    return CONTEXT_EXCEEDED.search(text) is not None and not _is_answer_too_long(text)


def _is_answer_too_long(text: str) -> bool:
    """Tell whether the room asked for the answer is what does not fit: the prompt fills less than half the window."""
    window, prompt = _first_number(_LIMIT, text), _first_number(_INPUT, text)
    return window is not None and prompt is not None and 2 * prompt < window


def _first_number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    digits = next((group for group in found.groups() if group), "") if found is not None else ""
    digits = digits.replace(",", "")
    return int(digits) if 0 < len(digits) < 16 else None
