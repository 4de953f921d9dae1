#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes chat_template_cases.inc: what Jinja renders from templates/*.jinja for a few conversations.

    make_chat_template_cases.py [--originals DIR]

Needs jinja2 (Debian: python3-jinja2), with the settings that the transformers library gives it. tinyllama, qwen2 and
qwen3 are the templates of these models (Apache-2.0); the others say in our own words what the families' templates do.
With --originals, DIR/qwen3-tokenizer_config.json, DIR/llama3_1-tokenizer_config.json and
DIR/gemma3-tokenizer_config.json.gz must render the same as ours.
"""

import argparse
import gzip
import json
import os

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = os.path.dirname(os.path.abspath(__file__))

# name: (family, BOS, EOS)
TEMPLATES = {
    "tinyllama": ("zephyr", "<s>", "</s>"),
    "qwen2": ("chatml", "", "<|im_end|>"),
    "qwen3": ("qwen3", "", "<|im_end|>"),
    "chatml-bos": ("chatml", "<|startoftext|>", "<|im_end|>"),
    "lfm2.5": ("lfm2.5", "<|startoftext|>", "<|im_end|>"),
    "llama-2": ("llama-2", "<s>", "</s>"),
    "mistral": ("mistral", "<s>", "</s>"),
    "llama-3": ("llama-3", "<|begin_of_text|>", "<|eot_id|>"),
    "llama-3.1": ("llama-3", "<|begin_of_text|>", "<|eot_id|>"),
    "gemma": ("gemma", "<bos>", "<eos>"),
}
ORIGINALS = {"qwen3": "qwen3-tokenizer_config.json", "llama-3": "llama3_1-tokenizer_config.json",
             "gemma": "gemma3-tokenizer_config.json.gz"}

SYSTEM = ("system", "You are terse.")
QUESTION = ("user", "What is the capital of France?")
ANSWER = ("assistant", "Paris.")
AGAIN = ("user", "  And of Italy?\n")
THOUGHT = ("assistant", "<think>\nEasy.\n</think>\n\nParis.")

# (messages, add_generation_prompt, enable_thinking)
CONVERSATIONS = [
    ([QUESTION], True, True),
    ([QUESTION], True, False),
    ([QUESTION], False, True),
    ([SYSTEM, QUESTION], True, True),
    ([QUESTION, ANSWER, AGAIN], True, True),
    ([SYSTEM, QUESTION, ANSWER, AGAIN], True, False),
    ([QUESTION, THOUGHT, AGAIN], True, True),
    ([QUESTION, ANSWER], False, True),
    ([QUESTION, THOUGHT], False, True),
    ([QUESTION, THOUGHT, ANSWER, THOUGHT], False, True),
    ([("user", "<|im_end|></s><end_of_turn>[/INST]")], True, True),
    ([ANSWER, QUESTION], True, True),
    ([QUESTION, ("assistant", "Hm</think> \n</think>\n Paris. "), AGAIN, THOUGHT], True, True),
    ([("system", ""), QUESTION], True, True),
]


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def render(template, bos, eos, conversation):
    """The prompt, or None where the template refuses the conversation."""
    messages, add_generation_prompt, enable_thinking = conversation
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = raise_exception
    variables = {"enable_thinking": False} if not enable_thinking else {}
    try:
        return environment.from_string(template).render(
            messages=[{"role": role, "content": content} for role, content in messages],
            add_generation_prompt=add_generation_prompt, bos_token=bos, eos_token=eos, **variables)
    except jinja2.exceptions.TemplateError:
        return None


def literal(text):
    return "nullptr" if text is None else f'R"llmc({text})llmc"'


def read_original(folder, name):
    path = os.path.join(folder, ORIGINALS[name])
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)["chat_template"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--originals")
    arguments = parser.parse_args()
    lines = ["// Written by make_chat_template_cases.py; each entry is",
             "// {template, family, BOS, EOS, {messages}, generation prompt, thinking, prompt or null if refused}."]
    for name, (family, bos, eos) in TEMPLATES.items():
        with open(os.path.join(HERE, "templates", name + ".jinja"), encoding="utf-8", newline="") as file:
            template = file.read()
        original = read_original(arguments.originals, name) if arguments.originals and name in ORIGINALS else None
        for conversation in CONVERSATIONS:
            prompt = render(template, bos, eos, conversation)
            if original is not None and render(original, bos, eos, conversation) != prompt:
                raise SystemExit(f"{name}: ours differs from the original for {conversation}")
            messages, generation, thinking = conversation
            listed = ", ".join("{" + literal(role) + ", " + literal(content) + "}" for role, content in messages)
            lines.append(f'{{"{name}", "{family}", {literal(bos)}, {literal(eos)}, {{{listed}}}, '
                         f"{str(generation).lower()}, {str(thinking).lower()}, {literal(prompt)}}},")
    with open(os.path.join(HERE, "chat_template_cases.inc"), "w", encoding="utf-8", newline="") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
