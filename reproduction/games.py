"""Games of rows, evaluated where they are fastest: a table of all coalitions, or stars and chains
on a device.

The designs and what follows from them are owenshap's; only the evaluation of very many of them at
once is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from owenshap.designs.design import Chains, Design, Stars
from owenshap.estimators import Estimator
from reproduction.networks import Network
from reproduction.pool import spread_on

AT_ONCE = 1 << 18  # numbers of one working array on the host: what stays in a cache
# numbers of one working array of a network: what stays in a cache, what fills a GPU
TILE = {"cpu": 1 << 19, "cuda": 1 << 26}


def explained_outputs(network: Network, rows: Any, device: str = "cpu") -> Any:
    """The output that is explained for each row: the predicted class, or the only output."""
    from reproduction.training import predictions

    return predictions(network, rows, device).argmax(axis=1)


def table(network: Network, rows: Any, device: str = "cpu", members: Any = None) -> Any:
    """The values of all 2ⁿ coalitions for every row, (2ⁿ, rows): bit i of the index is player i.

    members (players, features) says which features each player has; by default each feature is a
    player.
    """
    if device == "cpu" and members is None and network.architecture.startswith("mlp"):
        return _table_in_numpy(network, rows)
    work = partial(_table_in_torch, network, device, members)
    return np.concatenate(list(spread_on(device, work, rows[:, None])), axis=1)


def _table_in_torch(network: Network, device: str, members: Any, rows: Any) -> Any:
    import torch

    outputs = explained_outputs(network, rows, device)
    # convolutions are slow in double precision, and single is enough for them
    double = members is None
    dtype = torch.float64 if double else torch.float32
    module = network.module(device, double=double)
    rows = torch.as_tensor(rows[:, rows.shape[1] - network.inputs :], dtype=dtype, device=device)
    members = torch.eye(rows.shape[1]) if members is None else torch.as_tensor(members)
    members = members.to(device, dtype)
    n_players = len(members)
    codes = torch.arange(1 << n_players, device=device)
    found = torch.empty(len(codes), len(rows), dtype=torch.float64, device=device)
    step = max(1, TILE[device] // (4 * rows.shape[1]))
    with torch.no_grad():
        for start in range(0, len(codes), step):
            which = slice(start, start + step)
            present = ((codes[which, None] >> torch.arange(n_players, device=device)) & 1).to(
                dtype
            ) @ members
            for row, output in enumerate(outputs):
                found[which, row] = module(present * rows[row])[:, output].double()
    return found.cpu().numpy()


def _table_in_numpy(network: Network, rows: Any) -> Any:
    present = (np.arange(1 << rows.shape[1])[:, None] >> np.arange(rows.shape[1]) & 1).astype(
        np.float64
    )
    outputs = network(rows).argmax(axis=1)
    return np.stack(
        [network(present * row)[:, output] for row, output in zip(rows, outputs, strict=True)],
        axis=1,
    )


def evaluations(design: Design) -> int:
    """Evaluations that a design costs, the empty and the grand coalition counted once."""
    sizes = design.sizes()
    return 2 + int(np.count_nonzero((sizes > 0) & (sizes < design.n_players)))


class RowGame(Protocol):
    """A game of one row that gives the contributions of many stars or chains at once."""

    n_players: int

    def star_contributions(self, centres: Any) -> Any:
        """v(S ∪ j) − v(S ∖ j) for the centres (s, n) of stars, (s, n)."""
        ...

    def chain_contributions(self, ranks: Any) -> Any:
        """What each player adds in the chains whose ranks are (c, n), (c, n)."""
        ...

    def values(self, coalitions: Any) -> Any:
        """V of coalitions (m, n), (m,)."""
        ...


def total(game: RowGame) -> float:
    """v(N) − v(∅), which Shapley values sum to."""
    ends = np.array([[False], [True]]).repeat(game.n_players, axis=1)
    empty, everyone = game.values(ends)
    return float(everyone - empty)


def estimates(
    game: RowGame, estimator: Estimator, replicates: int, times: int, rng: np.random.Generator
) -> Any:
    """Independent estimates (times, n), each the mean of so many replicates."""
    together = max(
        1, min(times, AT_ONCE // max(1, replicates * estimator.replicate_cost(game.n_players)))
    )
    parts = []
    for start in range(0, times, together):
        count = min(together, times - start)
        found = _replicates(game, [estimator.draw(game.n_players, rng, count * replicates)])[0]
        parts.append(found.reshape(count, replicates, game.n_players).mean(axis=1))
    return np.concatenate(parts)


def estimate_all(game: RowGame, designs: Sequence[Design]) -> Any:
    """The estimate (designs, n) of every design, the mean over its replicates; all designs are
    stars, or all chains.
    """
    return np.stack([found.mean(axis=0) for found in _replicates(game, designs)])


def _replicates(game: RowGame, designs: Sequence[Design]) -> list[Any]:
    """The replicates (r, n) of every design, evaluated together."""
    stars = [each for each in designs if isinstance(each, Stars)]
    if stars:
        found = game.star_contributions(
            np.concatenate([each.centres.reshape(-1, game.n_players) for each in stars])
        )
        return [
            np.einsum("rsn,s->rn", part.reshape(each.centres.shape), each.weights)
            for each, part in zip(
                stars, _parts(found, [each.centres for each in stars]), strict=True
            )
        ]
    chains = [each for each in designs if isinstance(each, Chains)]
    found = game.chain_contributions(
        np.concatenate([each.ranks.reshape(-1, game.n_players) for each in chains])
    )
    ranks = [each.ranks for each in chains]
    return [
        part.reshape(each.shape).mean(axis=1)
        for each, part in zip(ranks, _parts(found, ranks), strict=True)
    ]


def _parts(found: Any, units: list[Any]) -> list[Any]:
    return np.split(found, np.cumsum([each.shape[0] * each.shape[1] for each in units])[:-1])


class TableRow:
    """A row whose 2ⁿ values are all known."""

    def __init__(self, values: Any) -> None:
        self.n_players = len(values).bit_length() - 1
        self._values, self._bits = values, 1 << np.arange(self.n_players)

    def star_contributions(self, centres: Any) -> Any:
        codes = (centres @ self._bits)[:, None]
        return self._values[codes | self._bits] - self._values[codes & ~self._bits]

    def values(self, coalitions: Any) -> Any:
        return self._values[coalitions @ self._bits]

    def chain_contributions(self, ranks: Any) -> Any:
        joined = np.zeros((len(ranks), self.n_players + 1), np.int64)
        np.cumsum(self._bits[np.argsort(ranks, axis=1)], axis=1, out=joined[:, 1:])
        return np.take_along_axis(
            np.diff(self._values[joined], axis=1), ranks.astype(np.int64), axis=1
        )


class _OnDevice:
    """What both kinds of row games share: chunks, signs and the way back to the host."""

    n_players: int
    width: int
    device: str

    def star_contributions(self, centres: Any) -> Any:
        import torch

        parts = []
        for chunk in torch.as_tensor(centres, device=self.device).split(self._chunk()):
            base, moved = self._star_values(chunk)
            parts.append(torch.where(chunk, base[:, None] - moved, moved - base[:, None]).double())
        return torch.cat(parts).cpu().numpy()

    def chain_contributions(self, ranks: Any) -> Any:
        import torch

        parts = []
        for chunk in torch.as_tensor(ranks.astype(np.int64), device=self.device).split(
            self._chunk()
        ):
            values = self._chain_values(chunk.argsort(dim=1))
            parts.append(values.diff(dim=1).gather(1, chunk).double())
        return torch.cat(parts).cpu().numpy()

    def values(self, coalitions: Any) -> Any:
        import torch

        every = torch.as_tensor(np.asarray(coalitions, bool), device=self.device)
        parts = every.split(max(1, TILE[self.device] // self.width))
        return torch.cat([self._set_values(part).double() for part in parts]).cpu().numpy()

    def _chunk(self) -> int:
        return max(1, TILE[self.device] // (self.n_players * self.width))

    def _set_values(self, coalitions: Any) -> Any:
        raise NotImplementedError

    def _star_values(self, centres: Any) -> tuple[Any, Any]:
        raise NotImplementedError

    def _chain_values(self, order: Any) -> Any:
        raise NotImplementedError


class LinearFirstGame(_OnDevice):
    """A row of a network that begins with a linear layer: a coalition's first layer is a sum of
    columns.

    Players whose feature is 0, the baseline, are null players and left out; `live` are the others.
    """

    def __init__(self, network: Network, row: Any, device: str = "cpu") -> None:
        import torch

        module = network.module(device)
        self.live, self.device = np.flatnonzero(row), device
        self.n_players = len(self.live)
        self._rest = module[1:]
        weights, present = (
            module[0].weight,
            torch.as_tensor(row[self.live], dtype=torch.float32, device=device),
        )
        self._columns = (
            weights[:, torch.as_tensor(self.live, device=device)] * present
        ).T.contiguous()
        self.width = self._columns.shape[1]
        with torch.no_grad():
            self._output = int(self._rest(self._columns.sum(0, keepdim=True)).argmax())

    def _set_values(self, coalitions: Any) -> Any:
        return self._values(coalitions.to(self._columns.dtype) @ self._columns)

    def _star_values(self, centres: Any) -> tuple[Any, Any]:
        import torch

        base = centres.to(self._columns.dtype) @ self._columns
        sign = 1 - 2 * centres.to(self._columns.dtype)
        return self._values(base), self._values(
            torch.addcmul(base[:, None], sign[:, :, None], self._columns)
        )

    def _chain_values(self, order: Any) -> Any:
        import torch

        joined = torch.zeros(self.n_players + 1, len(order), self.width, device=self.device)
        torch.index_select(
            self._columns, 0, order.T.reshape(-1), out=joined[1:].view(-1, self.width)
        )
        return self._values(_running_sums(joined)).T

    def _values(self, hidden: Any) -> Any:
        """The explained output; features come first on the way, which makes products and softmax
        several times faster.
        """
        from torch import no_grad

        with no_grad():
            features = hidden.reshape(-1, self.width).T
            for layer in self._rest:
                features = _features_first(layer, features)
            return features[self._output].reshape(hidden.shape[:-1])


def _features_first(layer: Any, features: Any) -> Any:
    """A layer of an MLP on (features, m)."""
    from torch import nn

    if isinstance(layer, nn.Linear):
        return (
            layer.weight @ features
            if layer.bias is None
            else layer.bias[:, None].addmm(layer.weight, features)
        )
    return features.softmax(dim=0) if isinstance(layer, nn.Softmax) else layer(features)


def _running_sums(parts: Any) -> Any:
    """Sums along axis 0, in place on a CPU: torch's own go number by number there."""
    if parts.is_cuda:
        return parts.cumsum(dim=0)
    before, *after = parts.unbind()
    for each in after:
        before = each.add_(before)
    return parts


class ImageGame(_OnDevice):
    """A row of any network, inputs built: what a network without a linear first layer needs."""

    def __init__(self, network: Network, row: Any, device: str = "cpu") -> None:
        import torch

        row = row[len(row) - network.inputs :]
        self._module, self.device = network.module(device), device
        self.live = np.flatnonzero(row)
        self.n_players, self.width = len(self.live), 2 * len(row)
        self._row = torch.as_tensor(row, dtype=torch.float32, device=device)
        self._places = torch.as_tensor(self.live, device=device)
        with torch.no_grad():
            self._output = int(self._module(self._row[None]).argmax())

    def _set_values(self, coalitions: Any) -> Any:
        return self._values(coalitions)

    def _star_values(self, centres: Any) -> tuple[Any, Any]:
        import torch

        flips = torch.eye(self.n_players, dtype=torch.bool, device=self.device)
        return self._values(centres), self._values(centres[:, None] ^ flips)

    def _chain_values(self, order: Any) -> Any:
        import torch

        ranks = order.argsort(dim=1)
        places = torch.arange(self.n_players + 1, device=self.device)
        return self._values(ranks[:, None] < places[None, :, None])

    def _values(self, coalitions: Any) -> Any:
        import torch

        flat = coalitions.reshape(-1, self.n_players)
        with torch.no_grad():
            inputs = torch.zeros(len(flat), len(self._row), device=self.device)
            inputs[:, self._places] = flat * self._row[self._places]
            return self._module(inputs)[:, self._output].reshape(coalitions.shape[:-1])
