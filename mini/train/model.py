"""The encoder (all-MiniLM-L6-v2) with two heads: how well a pair belongs together, and where a value begins and ends."""

import json
import os

import onnx
import torch
from onnx import numpy_helper
from torch import nn
from transformers import BertConfig, BertModel

WIDTH = 384
CONFIG = (
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "hidden_act",
)


class Mini(nn.Module):
    def __init__(self, encoder: BertModel):
        super().__init__()
        self.encoder = encoder
        self.relevance = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))
        self.span = nn.Linear(WIDTH, 2)

    def forward(self, input_ids, token_type_ids, attention_mask):
        hidden = self.encoder(
            input_ids=input_ids, token_type_ids=token_type_ids, attention_mask=attention_mask
        ).last_hidden_state
        span = self.span(hidden).masked_fill((attention_mask == 0).unsqueeze(-1), -1e4)
        return self.relevance(hidden[:, 0]).squeeze(-1), span


class Exported(nn.Module):
    """As it goes into the file: relevance from 0 to 1."""

    def __init__(self, mini: Mini):
        super().__init__()
        self.mini = mini

    def forward(self, input_ids, token_type_ids, attention_mask):
        relevance, span = self.mini(input_ids, token_type_ids, attention_mask)
        return torch.sigmoid(relevance), span


def pretrained(folder: str) -> Mini:
    """Weights from `model.onnx` and `config.json` of all-MiniLM-L6-v2."""
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    encoder = BertModel(BertConfig(**{key: config[key] for key in CONFIG if key in config}), add_pooling_layer=False)
    graph = onnx.load(os.path.join(folder, "model.onnx")).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    products = {
        node.name: stored[name] for node in graph.node if node.op_type == "MatMul" for name in node.input if name in stored
    }
    weights = {}
    for key in encoder.state_dict():
        if key in stored:
            weights[key] = torch.tensor(stored[key])
        elif key.endswith(".weight"):
            # Exporters store the factors of products transposed, under the name of the operation.
            path = "/" + key.removesuffix(".weight").replace("encoder.layer.", "encoder/layer.")
            for part in (".attention.self.", ".attention.output.", ".intermediate.", ".output."):
                path = path.replace(part, part.replace(".", "/"))
            found = [name for name in products if name.startswith(f"{path}/MatMul")]
            if found:
                weights[key] = torch.tensor(products[found[0]].T.copy())
    missing = [key for key in encoder.state_dict() if key not in weights and "position_ids" not in key]
    if missing:
        raise ValueError(f"model.onnx lacks {missing[:5]}")
    encoder.load_state_dict(weights, strict=False)
    return Mini(encoder)
