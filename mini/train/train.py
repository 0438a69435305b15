"""Trains the model and writes it: `DATA=folder python train.py OUT`. Five minutes on one GPU."""

import os
import random
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

from examples import Example, all_examples, read
from model import Exported, Mini, pretrained
from pair_texts import tool_text, value_text

DATA = os.environ["DATA"]
BATCH = 512
EPOCHS = 2.0
MOST_SECONDS = 300
BLOCK = 50
IGNORED = -100


class Encoded:
    """Examples as tokens, with what is right about each."""

    def __init__(self, tokenizer: Tokenizer, examples: list[Example]):
        self.ids, self.types = [], []
        relevant, starts, ends = [], [], []
        for first in range(0, len(examples), 20_000):
            chunk = examples[first : first + 20_000]
            encodings = tokenizer.encode_batch([(one.meant, one.said) for one in chunk])
            for encoding, example in zip(encodings, chunk):
                start, end = token_span(encoding, example.span)
                self.ids.append(encoding.ids)
                self.types.append(encoding.type_ids)
                relevant.append(IGNORED if example.span is not None else example.relevant)
                starts.append(start)
                ends.append(end)
        self.relevant, self.starts, self.ends = map(np.array, (relevant, starts, ends))
        self.lengths = np.array([len(one) for one in self.ids])

    def inputs(self, rows, device: str) -> list[torch.Tensor]:
        return padded([self.ids[row] for row in rows], [self.types[row] for row in rows], device)


def token_span(encoding, span: tuple[int, int] | None) -> tuple[int, int]:
    """The tokens of a span of characters; 0 and 0 where it is absent or was cut off."""
    if span is None:
        return IGNORED, IGNORED
    start = end = 0
    for index, (offsets, kind) in enumerate(zip(encoding.offsets, encoding.type_ids)):
        if kind == 1 and encoding.special_tokens_mask[index] == 0 and span[0] >= 0:
            start = index if offsets[0] <= span[0] < offsets[1] else start
            end = index if offsets[0] < span[1] <= offsets[1] else end
    return (start, end) if start and end >= start else (0, 0)


def padded(ids: list, types: list, device: str) -> list[torch.Tensor]:
    length = max(map(len, ids))
    arrays = np.zeros((3, len(ids), length), np.int64)
    for row, (tokens, kinds) in enumerate(zip(ids, types)):
        arrays[0, row, : len(tokens)], arrays[1, row, : len(tokens)], arrays[2, row, : len(tokens)] = tokens, kinds, 1
    return [torch.tensor(array).to(device) for array in arrays]


def batches(lengths: np.ndarray):
    """Without end; examples of like length go together, so that little is padded."""
    while True:
        order = np.random.permutation(len(lengths))
        for first in range(0, len(order) - BATCH * BLOCK, BATCH * BLOCK):
            block = order[first : first + BATCH * BLOCK]
            block = block[np.argsort(lengths[block])]
            for part in np.random.permutation(BLOCK):
                yield block[part * BATCH : (part + 1) * BATCH]


def train(mini: Mini, data: Encoded, device: str) -> None:
    steps = int(EPOCHS * len(data.ids) / BATCH)
    heads = list(mini.relevance.parameters()) + list(mini.span.parameters())
    optimiser = torch.optim.AdamW(
        [{"params": mini.encoder.parameters(), "lr": 2e-4}, {"params": heads, "lr": 6e-4}], weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=[2e-4, 6e-4], total_steps=steps + 1, pct_start=0.06)
    started, source = time.time(), batches(data.lengths)
    mini.train()
    for step in range(steps):
        rows = next(source)
        relevant, starts, ends = (torch.tensor(one[rows]).to(device) for one in (data.relevant, data.starts, data.ends))
        with torch.autocast("cuda", torch.bfloat16):
            relevance, span = mini(*data.inputs(rows, device))
        relevance, span, judged = relevance.float(), span.float(), relevant >= 0
        loss = torch.zeros((), device=device)
        if judged.any():
            loss = loss + F.binary_cross_entropy_with_logits(relevance[judged], relevant[judged].float())
        if (~judged).any():
            sides = ((span[..., 0], starts), (span[..., 1], ends))
            loss = loss + 0.5 * sum(F.cross_entropy(logits, right, ignore_index=IGNORED) for logits, right in sides)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(mini.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 300 == 0:
            print(step, steps, round(float(loss), 4), round(time.time() - started, 1), flush=True)
        if time.time() - started > MOST_SECONDS:
            break


@torch.no_grad()
def score_on_dialogues(mini: Mini, tokenizer: Tokenizer, device: str) -> None:
    """Intents and spans of services that were not trained on. BFCL is scored by Toolyard itself (docs/mini.md)."""
    mini.eval()
    data = read("dialogues_dev.json.gz")
    services = {name: wordings[0] for name, wordings in data["services"].items()}

    def look(pairs: list[tuple[str, str]]):
        encodings = tokenizer.encode_batch(pairs)
        relevance, span = mini(*padded([one.ids for one in encodings], [one.type_ids for one in encodings], device))
        return relevance.cpu().numpy(), span.cpu().numpy(), encodings

    def text(intent: dict) -> str:
        return tool_text(intent["name"], intent["description"], list(intent["required_slots"]) + list(intent["optional_slots"]))

    right = asked = 0
    for record in random.sample([one for one in data["records"] if "intent" in one], 800):
        offered = list(services[record["service"]]["intents"])
        offered += [random.choice(services[random.choice(list(services))]["intents"]) for _ in range(4)]
        relevance, _, _ = look([(text(intent), record["said"]) for intent in offered])
        right, asked = right + int(relevance.argmax() == record["intent"]), asked + 1
    print("intents", right / asked)
    right = asked = 0
    for record in random.sample([one for one in data["records"] if one["spans"]], 800):
        service = services[record["service"]]
        for index, expected in record["spans"].items():
            slot = service["slots"][int(index)]
            tool = service["intents"][0]["name"]
            _, span, [encoding] = look([(value_text(slot["name"], slot["description"], tool), record["said"])])
            inside = [at for at, kind in enumerate(encoding.type_ids) if kind == 1 and not encoding.special_tokens_mask[at]]
            first, last = max(
                ((start, end) for start in inside for end in inside if start <= end < start + 20),
                key=lambda ends: span[0, ends[0], 0] + span[0, ends[1], 1],
            )
            found = [encoding.offsets[first][0], encoding.offsets[last][1]]
            right, asked = right + int(found == list(expected)), asked + 1
    print("spans", right / asked)


def export(mini: Mini, tokenizer: Tokenizer, folder: str) -> None:
    encoding = tokenizer.encode("tool: x", "said")
    sample = tuple(torch.tensor([one] * 2) for one in (encoding.ids, encoding.type_ids, encoding.attention_mask))
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    axes = {name: {0: "batch", 1: "sequence"} for name in [*inputs, "span"]} | {"relevance": {0: "batch"}}
    whole, small = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.int8.onnx")
    torch.onnx.export(
        Exported(mini.float().cpu().eval()), sample, whole, input_names=inputs, output_names=["relevance", "span"],
        dynamic_axes=axes, opset_version=17, dynamo=False,
    )
    quantize_dynamic(whole, small, weight_type=QuantType.QInt8, per_channel=True)


if __name__ == "__main__":
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    device = "cuda"
    tokenizer = Tokenizer.from_file(os.path.join(DATA, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128, strategy="longest_first")
    mini = pretrained(DATA).to(device)
    train(mini, Encoded(tokenizer, all_examples()), device)
    score_on_dialogues(mini, tokenizer, device)
    export(mini, tokenizer, sys.argv[1])
