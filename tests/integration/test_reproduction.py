"""The reproduction, end to end on embedded data, and its parts against slower ways to the same
numbers.
"""

import gzip
import hashlib
import json
import socket
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pytest

import owenshap
from reproduction import data, fitted, games, peers, search, tabular, training
from reproduction.__main__ import main, network
from reproduction.choice import contributions_by_size, expected_value
from reproduction.networks import Network
from reproduction.steps import TINY, Run

torch = pytest.importorskip("torch")


def small_network(inputs=6, hidden=5, outputs=3, seed=0):
    rng = np.random.default_rng(seed)
    shapes = {
        "0.weight": (hidden, inputs),
        "2.weight": (4, hidden),
        "2.bias": 4,
        "4.weight": (outputs, 4),
    }
    return Network(
        f"mlp {hidden}-4",
        {name: rng.normal(size=shape) for name, shape in shapes.items()},
        inputs,
        outputs,
    )


@pytest.fixture
def rows():
    return np.random.default_rng(1).normal(size=(3, 6))


@pytest.mark.parametrize(("name", "steps"), [("breast-cancer", 8), ("diabetes", 8), ("digits", 6)])
def test_embedded_data_end_to_end_and_resuming(name, steps, tmp_path, capsys):
    command = ["--dataset", name, "--tiny", "--no-report", "--out", str(tmp_path)]
    assert main(command) == 0
    files = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}
    assert len(files) == steps
    capsys.readouterr()
    assert main(command) == 0
    assert capsys.readouterr().out.count("there already") == steps
    assert files == {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}


def test_the_report_shows_pictures_that_are_there(tmp_path):
    main(["--dataset", "diabetes", "--tiny", "--out", str(tmp_path)])
    # a report of the paper's own data, from other numbers of the same shape
    for path in tmp_path.glob("diabetes-*"):
        path.rename(path.with_name(path.name.replace("diabetes", "cc")))
    network_of_cc = tmp_path / "cc-mlp-network.json"
    kept = json.loads(network_of_cc.read_text())
    network_of_cc.write_text(json.dumps(kept | {"result": kept["result"] | {"rule": 0.5}}))
    main(["report", "--tiny", "--out", str(tmp_path)])
    report = (tmp_path / "RESULTS.md").read_text()
    assert "## Table I" in report
    assert "5.57e-07 · 1.00" in report  # the paper's own number beside ours
    pictures = _pictures(report)
    assert len(set(pictures)) == 5
    assert all((tmp_path / each).exists() for each in pictures)


def _pictures(report):
    return [part.partition(")")[0] for part in report.split("](")[1:]]


def test_a_step_is_computed_again_when_its_settings_change(tmp_path, capsys):
    main(["--dataset", "diabetes", "--tiny", "--out", str(tmp_path), "--no-report"])
    path = tmp_path / "diabetes-mlp-table.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "hash": "another"}))
    capsys.readouterr()
    main(["--dataset", "diabetes", "--tiny", "--out", str(tmp_path), "--no-report"])
    assert "diabetes-mlp-table: there already" not in capsys.readouterr().out
    # the same seeds, the same numbers
    assert json.loads(path.read_text())["result"] == kept["result"]


def test_missing_data_say_what_to_fetch_and_where_to_put_it(tmp_path, capsys):
    assert main(["cc", "--tiny", "--data", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "UCI id 350" in said
    assert str(tmp_path) in said
    assert "--dataset" in said


def test_a_table_that_is_not_the_papers_is_refused(tmp_path):
    (tmp_path / "credit_cards_dataset.csv").write_text(
        "ID,x\n" + ",".join(map(str, range(25))) + "\n"
    )
    with pytest.raises(data.DataError, match=r"30,000 rows of UCI id 350; got \(1, 24\)"):
        data.credit_cards(tmp_path)


def test_numbers_in_other_forms_parse_to_the_same_table():
    csv = '"ID","LIMIT"\n1,5e+05' + ",-2" * 23 + "\n"
    arff = "% OpenML\n@RELATION credit\n@ATTRIBUTE x1 NUMERIC\n@DATA\n500000" + ",-2" * 23 + "\n"
    assert (data.parse_credit_cards(csv) == data.parse_credit_cards(arff)).all()


class _Site(BaseHTTPRequestHandler):
    """Serves `files`; a path in `broken` breaks off half way."""

    files: ClassVar[dict[str, bytes]] = {}
    broken: ClassVar[set[str]] = set()

    def do_GET(self):
        raw = self.files.get(self.path)
        if raw is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if self.path in self.broken else raw)

    def log_message(self, *_):
        pass


@pytest.fixture
def site(monkeypatch, tmp_path):
    """A site on this machine, the only one that is asked, and an empty cache."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OWENSHAP_DATA", raising=False)
    monkeypatch.setattr(data, "SIDE_BY_SIDE", tmp_path / "nowhere")
    handler = type("Handler", (_Site,), {"files": {}, "broken": set()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        monkeypatch.setattr(data, "MNIST_SITE", address)
        monkeypatch.setattr(data, "CC_DESCRIPTION", address + "42477")
        yield handler
        server.shutdown()
        thread.join()


LABELS, MORE_LABELS = (
    gzip.compress(b"\x00\x00\x08\x01\x00\x00\x00\x02" + each) for each in (b"\x07\x09", b"\x01\x02")
)


@pytest.fixture
def two_files(site, monkeypatch):
    site.files.update({"/labels.gz": LABELS, "/more.gz": MORE_LABELS})
    wanted = {
        name.removeprefix("/"): hashlib.sha256(raw).hexdigest() for name, raw in site.files.items()
    }
    monkeypatch.setattr(data, "MNIST_SHA256", wanted)
    return site


def test_files_are_downloaded_once(two_files):
    assert data.download_mnist(data.MNIST_SITE, data.cache()) == data.cache()
    assert data.read_idx(data.cache() / "labels.gz").tolist() == [7, 9]
    two_files.files.clear()
    data.download_mnist(data.MNIST_SITE, data.cache())


def test_a_file_with_another_hash_is_not_kept(two_files):
    two_files.files["/labels.gz"] = MORE_LABELS
    with pytest.raises(data.DataError, match=r"labels.gz must have the hash .* It was not kept"):
        data.download_mnist(data.MNIST_SITE, data.cache())
    assert not data.cache().exists()


def test_an_interrupted_download_keeps_whole_files_and_goes_on(two_files, capsys):
    two_files.broken.add("/more.gz")
    assert main(["mnist", "--tiny"]) == 2
    said = capsys.readouterr().err
    assert "more.gz: IncompleteRead" in said
    assert str(data.cache()) in said
    assert [path.name for path in data.cache().iterdir()] == ["labels.gz"]
    two_files.broken.clear()
    # two files are not MNIST, but both are there
    with pytest.raises(ValueError, match="not enough values"):
        data.mnist()
    assert sorted(path.name for path in data.cache().iterdir()) == ["labels.gz", "more.gz"]


def test_a_missing_file_and_no_internet_say_what_to_fetch_and_where_to_put_it(
    site, monkeypatch, capsys
):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        for address, why in ((data.MNIST_SITE, "404"), (nobody, "refused")):
            monkeypatch.setattr(data, "MNIST_SITE", address)
            monkeypatch.setattr(data, "CC_DESCRIPTION", address + "42477")
            for name, wanted in (("mnist", "t10k-images-idx3-ubyte.gz"), ("cc", "UCI id 350")):
                assert main([name, "--tiny"]) == 2
                said = capsys.readouterr().err
                assert all(
                    each in said for each in (why, wanted, str(data.cache()), "--data", "--dataset")
                )
    assert not data.cache().exists()


def test_download_of_credit_cards_follows_the_description(site, monkeypatch):
    arff = "@DATA\n" + "1" + ",2" * 23 + "\n"
    table = data.parse_credit_cards(arff)
    monkeypatch.setattr(data, "CC_ROWS", 1)
    monkeypatch.setattr(
        data, "CC_TABLE_SHA256", hashlib.sha256(table.astype("<i8").tobytes()).hexdigest()
    )
    site.files["/42477"] = json.dumps(
        {"data_set_description": {"url": data.MNIST_SITE + "cc.arff"}}
    ).encode()
    for wrong in (arff.replace("2", "3"), "<html>", "1,2\n1\n", ""):
        site.files["/cc.arff"] = wrong.encode()
        with pytest.raises(data.DataError, match="must hold the 30,000 rows of UCI id 350; got"):
            data.credit_table()
        assert not data.cache().exists()
    site.files["/cc.arff"] = arff.encode()
    assert (data.credit_table() == table).all()
    site.files.clear()
    assert (data.credit_table() == table).all()  # kept
    site.files["/42477"] = b"<html>"
    with pytest.raises(data.DataError, match="must describe a data set"):
        data.download_credit_cards(data.CC_DESCRIPTION, data.cache())


def test_half_a_file_is_refused(tmp_path):
    (tmp_path / "labels.gz").write_bytes(LABELS[:-6])
    with pytest.raises(data.DataError, match="must be a whole file"):
        data.read_idx(tmp_path / "labels.gz")


def test_table_of_values_is_the_explainers_game(rows):
    net = small_network()
    exact = owenshap.Explainer(net, baseline=0.0, output="predicted")(rows, method="exact").values
    assert np.allclose(tabular.exact(games.table(net, rows)).T, exact, atol=1e-12)


def test_rows_of_a_table_and_of_a_network_estimate_what_owenshap_estimates(rows):
    net = small_network()
    row = np.where(np.arange(6) == 2, 0.0, rows[0])  # one null player
    live = np.flatnonzero(row)
    values = games.table(net, row[None])[:, 0]
    of_table = games.TableRow(values[[_spread(code, live) for code in range(32)]])
    of_columns, of_inputs = games.LinearFirstGame(net, row), games.ImageGame(net, row)
    for estimator, replicates in (
        (owenshap.Castro(antithetic=True), 4),
        (owenshap.HalvedOwenPrinted(5, 2), 3),
    ):
        found = [
            games.estimates(game, estimator, replicates, 2, np.random.default_rng(7))
            for game in (of_table, of_columns, of_inputs)
        ]
        assert np.allclose(found[0], found[1], atol=1e-6)
        assert np.allclose(found[0], found[2], atol=1e-6)
        design = estimator.draw(5, np.random.default_rng(7), 2 * replicates)
        coalitions = design.coalitions(np.arange(len(design)))
        full = np.zeros((len(coalitions), 6), bool)
        full[:, live] = coalitions
        wanted = estimator.replicates(design, values[full @ (1 << np.arange(6))][:, None])[..., 0]
        assert np.allclose(found[0], wanted.reshape(2, replicates, 5).mean(axis=1), atol=1e-12)


def test_rows_have_their_own_draws_however_many_threads(rows, monkeypatch):
    values = games.table(small_network(), np.concatenate([rows, rows[:1]]))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(tabular.all_rows(values, owenshap.Castro(), 2, 3, np.random.default_rng(0)))
    assert (found[0] == found[1]).all()
    assert (found[0][..., 0] != found[0][..., 3]).any()  # the same row twice


def test_fits_spend_what_the_table_says_and_come_close(rows, tmp_path):
    values = games.table(small_network(), rows)
    found = fitted.compare(values, Run(tmp_path, replace(TINY, table_samples=20, repetitions=20)))
    assert found["evaluations"] == {
        "linear samples": 22,
        "linear evaluations": 64,
        "gaussian-process samples": 22,
    }
    assert found["repetitions"] == {"linear": 20, "gaussian-process": 1}
    power = np.mean(tabular.exact(values) ** 2, axis=0)
    assert (found["errors"]["linear evaluations"] < 1e-20).all()  # all 64 coalitions
    assert (found["errors"]["linear samples"] < 0.1 * power).all()
    assert (found["errors"]["gaussian-process samples"] < 0.01 * power).all()


def test_a_peers_repetitions_are_kept_one_by_one(tmp_path, monkeypatch, rows):
    seeds = []

    def fake(its_games, budget, seed):
        if seed == 1 and seeds == [0]:
            seeds.append("interrupted")
            raise KeyboardInterrupt
        seeds.extend([seed] if budget == 100 else [])
        its_games(np.ones((budget, its_games.n_players), bool))
        return np.full((its_games.n_players, its_games.n_rows), float(seed))

    monkeypatch.setattr(peers, "PEERS", {"fake": ("numpy", fake)})
    run = Run(tmp_path, TINY, say=lambda _: None)
    dataset = data.Dataset("some", *[(rows, None)] * 3, [], 3)
    with pytest.raises(KeyboardInterrupt):
        peers.experiments(dataset, small_network(), run)
    peers.experiments(dataset, small_network(), run)
    assert seeds == [0, "interrupted", 1]
    found = json.loads((tmp_path / "some-fake.json").read_text())["result"]
    truth = tabular.exact(games.table(small_network(), tabular.some_rows(dataset, 3)))
    assert np.allclose(
        found["errors"]["samples"],
        (np.mean(truth**2, axis=0) + np.mean((1 - truth) ** 2, axis=0)) / 2,
    )
    assert found["evaluations"] == {"samples": 100.0, "evaluations": 502.0}
    assert [path.name for path in tmp_path.iterdir()] == ["some-fake.json"]


def test_networks_fitted_together_are_what_they_are_alone():
    table = np.random.default_rng(0).normal(size=(400, 5))
    sets = [
        data._tabular("some", table, table @ [1, 2, 0, 0, 1] > 0, list("abcde"), 2, seed=seed)
        for seed in range(2)
    ]
    for together, dataset in zip(
        training.fit_together("mlp 4-3", sets, epochs=5), sets, strict=True
    ):
        alone = training.fit("mlp 4-3", dataset, epochs=5)
        assert np.allclose(together(dataset.test[0]), alone(dataset.test[0]), atol=1e-5)


def _spread(code, live):
    return sum(1 << int(player) for place, player in enumerate(live) if code >> place & 1)


def test_expected_value_of_a_rule_needs_no_sampling(rows):
    values = games.table(small_network(), rows)
    truth, by_size = tabular.exact(values), contributions_by_size(values)
    assert np.allclose(
        expected_value(by_size, owenshap.Owen(levels=3, rule="gauss-legendre").pass_levels()),
        truth,
        atol=1e-12,
    )
    levels = owenshap.OwenPrinted(4, 2)
    sampled = tabular.all_rows(values, levels, 1, 4000, np.random.default_rng(0))
    # 18 means of 4000: the largest of 18 |z| passes 4.5 once in 8,000 seeds.
    error = sampled.std(axis=0) / np.sqrt(len(sampled))
    assert (
        abs(sampled.mean(axis=0) - expected_value(by_size, levels.pass_levels()))
        < 4.5 * error + 1e-12
    ).all()


def test_padding_never_matters_in_a_batched_group():
    models = [(), (3,), (5, 2), (2, 5), (4, 3, 2)]
    rows, labels = torch.randn(40, 6), torch.randint(3, (40,))
    for depth in range(4):
        group = search.Group([each for each in models if len(each) == depth], 6, 3, "cpu", seed=0)
        for _ in range(20):
            group.train(rows, labels)
        found = group.scores(rows).softmax(dim=2).detach().numpy()
        for place in range(len(group.models)):
            assert np.allclose(search.unpadded(group, place)(rows.numpy()), found[place], atol=1e-5)


def test_a_model_learns_the_same_alone_and_in_a_group():
    rows, labels = torch.randn(40, 6), torch.randint(3, (40,))
    group, alone = (search.Group([(5, 2), (2, 5)], 6, 3, "cpu", seed=0) for _ in range(2))
    alone.train(rows, labels)
    alone.keep(torch.tensor([1]))
    group.train(rows, labels)
    for _ in range(5):
        group.train(rows, labels)
        alone.train(rows, labels)
    assert torch.allclose(group.scores(rows)[1], alone.scores(rows)[0], atol=1e-6)


def test_search_scores_every_distinct_architecture_once(tmp_path):
    assert (
        main(
            [
                "--dataset",
                "breast-cancer",
                "--tiny",
                "--search",
                "--draws",
                "4",
                "--out",
                str(tmp_path),
                "--no-report",
            ]
        )
        == 0
    )
    found = json.loads((tmp_path / "breast-cancer-search.json").read_text())["result"]
    assert sum(found["drawn"]) == 4
    assert len(set(found["architectures"])) == len(found["validation"])
    assert found["winner"].removeprefix("mlp").strip() in found["architectures"]


@pytest.mark.skipif(
    not (data.SIDE_BY_SIDE / data.CC_FILE).exists(),
    reason="the paper's data are not in ../shared/data",
)
def test_the_papers_data_and_the_reported_networks():
    credit_cards = data.credit_cards(data.SIDE_BY_SIDE)
    parts = (credit_cards.training, credit_cards.validation, credit_cards.test)
    assert [len(part[1]) for part in parts] == [18_785, 4_696, 5_870]
    assert credit_cards.test[0].shape[1] == 16
    predicted = network("cc", "mlp 13-9")(credit_cards.test[0]).argmax(axis=1)
    assert np.mean(predicted == credit_cards.test[1]) >= 0.820
    images = data.mnist(data.SIDE_BY_SIDE)
    assert images.test[0].shape == (10_000, 785)
    predicted = network("mnist", "mlp 300-25")(images.test[0]).argmax(axis=1)
    assert np.mean(predicted == images.test[1]) >= 0.980
