"""A planted grammar and a small transformer that learns it: text whose tokens are players.

A sentence has 14 tokens. It is 'positive' if more good than bad words count, where a 'not' turns the
next word about and a 'very' counts it twice: words interact with their neighbours, as in language.
"""

from __future__ import annotations

from typing import Any

import numpy as np

TOKENS = 14
PAD, NOT, VERY = 0, 1, 2
GOOD, BAD, PLAIN = range(3, 9), range(9, 15), range(15, 24)
VOCABULARY = 24
WIDTH, HEADS, LAYERS = 32, 4, 2
SENTENCES, TRAINING_EPOCHS, BATCH = 20_000, 4, 256


def sentences(count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Token codes (count, 14) and labels (count,); ties are left out."""
    codes = np.zeros((0, TOKENS), np.int64)
    labels = np.zeros(0, np.int64)
    while len(codes) < count:
        drawn = rng.choice(
            [NOT, VERY, *GOOD, *BAD, *PLAIN],
            p=[0.12, 0.12, *[0.28 / 6] * 6, *[0.28 / 6] * 6, *[0.2 / 9] * 9],
            size=(2 * count, TOKENS),
        )
        score = scores(drawn)
        kept = score != 0
        codes = np.concatenate([codes, drawn[kept]])
        labels = np.concatenate([labels, (score[kept] > 0).astype(np.int64)])
    return codes[:count], labels[:count]


def scores(codes: Any) -> Any:
    """Good words less bad ones, turned about by 'not' and doubled by 'very' just before them."""
    worth = np.isin(codes, list(GOOD)) * 1 - np.isin(codes, list(BAD))
    before = np.concatenate([np.zeros((len(codes), 1), np.int64), codes[:, :-1]], axis=1)
    factor = np.where(before == NOT, -1, np.where(before == VERY, 2, 1))
    return (worth * factor).sum(axis=1)


def build() -> Any:
    """Embedding, places, two layers of attention, the mean of the tokens, two scores."""
    import torch
    from torch import nn

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(VOCABULARY, WIDTH)
            self.places = nn.Parameter(0.1 * torch.randn(TOKENS, WIDTH))
            layer = nn.TransformerEncoderLayer(
                WIDTH, HEADS, 2 * WIDTH, dropout=0.0, batch_first=True
            )
            self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
            self.out = nn.Linear(WIDTH, 2)

        def forward(self, codes: Any) -> Any:
            return self.out(self.layers(self.words(codes) + self.places).mean(dim=1))

    return Transformer()


def trained(seed: int, device: str) -> tuple[Any, float]:
    """A transformer, and its accuracy on sentences it has not seen; some tokens are left out while
    it learns, so that a sentence with absent tokens is nothing strange to it.
    """
    import torch

    rng = np.random.default_rng(seed)
    codes, labels = sentences(SENTENCES, rng)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build().to(device)
    adam = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(TRAINING_EPOCHS):
        order = rng.permutation(SENTENCES)
        absent = rng.random(codes.shape) < 0.3 * rng.random((SENTENCES, 1))
        seen = np.where(absent, PAD, codes)
        for which in np.array_split(order, SENTENCES // BATCH):
            adam.zero_grad()
            found = model(torch.as_tensor(seen[which], device=device))
            wanted = torch.as_tensor(labels[which], device=device)
            torch.nn.functional.cross_entropy(found, wanted).backward()
            adam.step()
    model.eval()
    fresh, wanted_labels = sentences(2000, np.random.default_rng(10_000 + seed))
    with torch.no_grad():
        right = model(torch.as_tensor(fresh, device=device)).argmax(dim=1).cpu().numpy()
    return model, float(np.mean(right == wanted_labels))


def table(model: Any, codes: Any, device: str) -> Any:
    """The probability of the predicted class for all 2¹⁴ sets of tokens, (2¹⁴, sentences); an absent
    token is padding.
    """
    import torch

    present = (np.arange(1 << TOKENS)[:, None] >> np.arange(TOKENS) & 1).astype(bool)
    columns = []
    with torch.no_grad():
        for sentence in codes:
            inputs = torch.as_tensor(np.where(present, sentence, PAD), device=device)
            found = torch.cat([model(part).softmax(dim=1) for part in inputs.split(4096)])
            columns.append(found[:, int(found[-1].argmax())].double().cpu().numpy())
    return np.stack(columns, axis=1)
