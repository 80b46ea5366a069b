"""A conversation that no longer fits is recognised in every dialect, and nothing else is taken for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.providers.overflow import is_context_exceeded

TOO_LONG = {
    "Anthropic": "prompt is too long: 213462 tokens > 200000 maximum",
    "Anthropic, with the answer": "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, "
    "decrease input length or `max_tokens` and try again",
    "Anthropic, bytes": "Request exceeds the maximum size request_too_large",
    "Vertex, Claude": "input length and `max_tokens` exceed context limit: 195261 + 12288 > 204650",
    "OpenAI chat": "This model's maximum context length is 128000 tokens. However, your messages resulted in 173172 "
    "tokens. Please reduce the length of the messages.",
    "OpenAI chat, split": "This model's maximum context length is 4097 tokens. However, you requested 4203 tokens "
    "(3703 in the messages, 500 in the completion). Please reduce the length of the messages or completion.",
    "OpenAI completions": "This model's maximum context length is 4097 tokens, however you requested 5762 tokens "
    "(5506 in your prompt; 256 for the completion). Please reduce your prompt; or completion length.",
    "OpenAI responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "OpenAI code": "context_length_exceeded",
    "OpenAI minute": "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
    "Requested 78891. The input or output tokens must be reduced in order to run successfully.",
    "minute, with separators": "Request too large for model `llama` on tokens per minute (TPM): Limit 6,000, Requested "
    "9,500, please reduce your message size.",
    "OpenAI string": "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, "
    "but got a string with length 1240000 instead.",
    "OpenAI array": "Invalid 'input': array too long. Expected an array with maximum length 2048.",
    "Azure": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. "
    "Please reduce the length of the messages.",
    "Gemini": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "Gemini, no number": "The input token count exceeds the maximum number of tokens allowed 1048576.",
    "Gemini, bytes": "Request payload size exceeds the limit: 20971520 bytes.",
    "Vertex": "Unable to submit request because the input token count is 1100000 but model only supports up to "
    "1048576. Reduce the input token count and try again.",
    "Bedrock": "Input is too long for requested model.",
    "Bedrock, Claude": "The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum",
    "Bedrock, Titan": "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 8371",
    "Mistral": "Prompt contains 40231 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "Cohere": "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. "
    "Try using a shorter prompt or a smaller max_tokens value.",
    "Groq": "Please reduce the length of the messages or completion.",
    "Groq, minute": "Request too large for model `llama-3.3-70b-versatile` in organization `o` service tier "
    "`on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try "
    "again.",
    "Together": "The input (49146 tokens) is longer than the model's context length (40960 tokens).",
    "Together, old": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 "
    "`inputs` tokens and 4096 `max_new_tokens`",
    "Fireworks": "The prompt is too long: 40177, model maximum context length: 32767",
    "DeepSeek": "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 "
    "in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Qwen": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
    "Moonshot": "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
    "Moonshot, bytes": "total message size 2306631 exceeds limit 2097152",
    "MiniMax": "invalid params, context window exceeds limit (2013)",
    "OpenRouter": "This endpoint's maximum context length is 202752 tokens. However, you requested about 203889 tokens "
    "(183648 of text input, 4241 of tool input, 16000 in the output). Please reduce the length of either one, or use "
    "the context-compression plugin to compress your prompt automatically.",
    "OpenRouter, Poolside": "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
    "Ollama": "prompt too long; exceeded max context length by 100918 tokens",
    "Ollama, old": "the input length exceeds the context length",
    "vLLM": "This model's maximum context length is 16384 tokens. However, your request has 18225 input tokens. Please "
    "reduce the length of the input messages.",
    "vLLM, engine": "The decoder prompt (length 163840) is longer than the maximum model length of 131072. Make sure "
    "that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
    "vLLM, V0": "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
    "vLLM, scheduler": "Input prompt (35247 tokens) is too long and exceeds limit of 1000",
    "vLLM, answer": "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length "
    "is 32768 tokens and your request has 30000 input tokens (8000 > 32768 - 30000).",
    "SGLang": "Requested token count exceeds the model's maximum context length of 202752 tokens. You requested a total "
    "of 202941 tokens: 170941 tokens from the input messages and 32000 tokens for the completion.",
    "SGLang, length": "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
    "TGI": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens "
    "and 60 `max_new_tokens`",
    "TGI, input": "Input validation error: `inputs` must have less than 2048 tokens. Given: 2222",
    "Hugging Face": "Input is too long for this model, shorten your input",
    "llama.cpp": "the request exceeds the available context size, try increasing it",
    "llama.cpp, numbers": "request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "llama.cpp, in the stream": "Context size has been exceeded.",
    "llama-cpp-python": "Requested tokens (3000) exceed context window of 2048",
    "LM Studio": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: "
    "13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.",
    "LM Studio, old": "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded "
    "with context length of only 32768 tokens, which is not enough.",
    "LM Studio, in the stream": "Reached context length of 32000 tokens with model (arch: gpt-oss) that does not "
    "currently support mid-generation context overflow.",
    "DS4": "Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens",
    "LiteLLM": "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicError",
    "Cerebras": "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
    "Zhipu": "Prompt exceeds max length",
    "Zhipu, long": "API 调用参数有误，请检查文档。Request 182387 input tokens exceeds the model's maximum context length 202750",
    "Zhipu, Chinese": "输入内容超过模型最大上下文长度",
    "Z.ai": "Prompt too long",
    "Z.ai, reason": "model_context_window_exceeded",
    "Copilot": "prompt token count of 93854 exceeds the limit of 90000",
    "mlx": "Prompt exceeds maximum context length",
    "watsonx": "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model",
    "Perplexity": "The total length of all messages is too long.",
}

SOMETHING_ELSE = {
    "OpenAI answer": "max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you "
    "provided 6000.",
    "OpenAI answer, split": "This model's maximum context length is 4097 tokens. However, you requested 4137 tokens "
    "(137 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
    "OpenRouter answer": "This endpoint's maximum context length is 131072 tokens. However, you requested about 131172 "
    "tokens (1172 of text input, 130000 in the output).",
    "Anthropic answer": "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3",
    "Anthropic answer, sum": "input length and `max_tokens` exceed context limit: 86888 + 119866 > 204648, decrease "
    "input length or `max_tokens` and try again",
    "vLLM answer": "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is "
    "32768 tokens and your request has 1000 input tokens (32000 > 32768 - 1000).",
    "TGI answer": "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 37 `inputs` tokens and 9000 "
    "`max_new_tokens`",
    "SGLang answer": "Requested token count exceeds the model's maximum context length of 202752 tokens. You requested "
    "a total of 204000 tokens: 4000 tokens from the input messages and 200000 tokens for the completion.",
    "Groq answer": "max_tokens must be less than or equal to 16384, the maximum value for max_tokens is less than the "
    "context_window for this model",
    "Bedrock answer": "The maximum tokens you requested exceeds the model limit of 32768",
    "OpenAI minute": "Rate limit reached for gpt-5.1 in organization org-x on tokens per min (TPM): Limit 10000, Used "
    "9726, Requested 878. Please try again in 3.624s.",
    "OpenAI requests": "Rate limit reached for gpt-4o on requests per min (RPM): Limit 3.",
    "Anthropic minute": "This request would exceed your organization's rate limit of 30,000 input tokens per minute. "
    "Please reduce the prompt length or the maximum tokens requested, or try again later.",
    "Anthropic old minute": "Number of request tokens has exceeded your per-minute rate limit",
    "Bedrock throttle": "ThrottlingException: Too many tokens, please wait before trying again.",
    "Bedrock day": "Too many tokens per day, please wait before trying again.",
    "Bedrock peak": "The system is currently experiencing high demand and cannot process your request. Your request "
    "exceeds the maximum usage size allowed during peak load.",
    "Moonshot day": "request reached organization TPD rate limit, current: 1506556, limit: 1500000",
    "Gemini quota": "You exceeded your current quota, please check your plan and billing details.",
    "Qwen throttle": "Throttling: request rate increased too quickly.",
    "OpenAI tool": "Invalid 'tools[1].function.description': string too long. Expected a string with maximum length "
    "1024, but got a string with length 1103 instead.",
    "subscription": "Extra usage is required for long context requests.",
    "credits": "This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only "
    "afford 2666.",
    "roles": "messages: roles must alternate between user and assistant",
    "image": "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
    "model": "Model context window too small (minimum is 128k tokens)",
    "crash": "model runner crashed unexpectedly",
    "key": "Incorrect API key provided",
    "nothing": "",
}


@pytest.mark.parametrize("text", TOO_LONG.values(), ids=TOO_LONG)
def test_a_conversation_that_is_too_long(text):
    assert is_context_exceeded(400, text)
    assert is_context_exceeded(None, f"Upstream error: {text.upper()}")


@pytest.mark.parametrize("text", SOMETHING_ELSE.values(), ids=SOMETHING_ELSE)
def test_something_else(text):
    assert not is_context_exceeded(400, text)
    assert not is_context_exceeded(429, f"Error from the provider: {text}")


def test_a_body_that_the_server_would_not_take():
    assert is_context_exceeded(413, "")


@given(st.text(), st.sampled_from(sorted(TOO_LONG)))
def test_any_text_is_read_in_passing(noise, vendor):
    assert isinstance(is_context_exceeded(400, noise + TOO_LONG[vendor] * 50 + noise), bool)
