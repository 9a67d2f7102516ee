import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import polars as pl
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

from owenshap import Explainer, InputError, patches
from owenshap.errors import ModelError
from owenshap.models import as_model
from owenshap.models.onnx import OnnxModel


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def model_of(nodes, inputs, outputs, weights=None):
    """An ONNX model of these nodes; inputs and outputs are {name: (type, shape)}."""
    graph = helper.make_graph(
        nodes,
        "made by hand",
        [
            helper.make_tensor_value_info(name, kind, shape)
            for name, (kind, shape) in inputs.items()
        ],
        [
            helper.make_tensor_value_info(name, kind, shape)
            for name, (kind, shape) in outputs.items()
        ],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def mlp():
    net, rng = (
        nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3), nn.Softmax(dim=1)),
        np.random.default_rng(11),
    )
    with torch.no_grad():
        for weights in net.parameters():
            weights.copy_(torch.tensor(rng.normal(scale=0.5, size=tuple(weights.shape))))
    return net


def onnx_of(net):
    """The multilayer perceptron above as an ONNX model with the same weights."""
    nodes = [
        helper.make_node("Gemm", ["rows", "0.weight", "0.bias"], ["hidden"], transB=1),
        helper.make_node("Tanh", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "2.weight", "2.bias"], ["scores"], transB=1),
        helper.make_node("Softmax", ["scores"], ["chances"], axis=1),
    ]
    weights = {name: each.detach().numpy() for name, each in net.named_parameters()}
    return model_of(
        nodes,
        {"rows": (TensorProto.FLOAT, ["m", 5])},
        {"chances": (TensorProto.FLOAT, ["m", 3])},
        weights,
    )


def as_numpy_function(net):
    weights = [each.detach().double().numpy() for each in net.parameters()]

    def function(rows):
        scores = np.tanh(rows @ weights[0].T + weights[1]) @ weights[2].T + weights[3]
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    return function


@pytest.fixture
def mlp_file(tmp_path):
    path = tmp_path / "mlp.onnx"
    onnx.save(onnx_of(mlp()), path)
    return path


SETTINGS = [{"method": "exact"}, {"method": "halved-owen", "budget": 400, "seed": 3}]


@pytest.mark.parametrize("given", [{"background": numbers(9, 5, seed=1)}, {"baseline": 0.0}])
@pytest.mark.parametrize("settings", SETTINGS, ids=["exact", "halved-owen"])
def test_function_module_and_file_give_the_same_values(mlp_file, given, settings):
    net, rows = mlp(), numbers(4, 5)
    models = [
        as_numpy_function(net),
        net,
        str(mlp_file),
        mlp_file,
        onnx_of(net),
        onnxruntime.InferenceSession(mlp_file),
    ]
    function, *others = [Explainer(model, **given)(rows, **settings) for model in models]
    for each in others:
        np.testing.assert_allclose(each.values, function.values, atol=1e-5, rtol=0)
        np.testing.assert_allclose(each.base_values, function.base_values, atol=1e-5, rtol=0)
        assert each.values.dtype == np.float64


def test_rows_of_every_type_give_the_same(mlp_file):
    rows, background, names = numbers(3, 5), numbers(6, 5, seed=1), list("abcde")
    wanted = Explainer(mlp_file, background)(rows).values
    np.testing.assert_array_equal(
        Explainer(mlp_file, torch.tensor(background))(torch.tensor(rows)).values, wanted
    )
    short = Explainer(mlp_file, torch.tensor(background).bfloat16())(torch.tensor(rows).bfloat16())
    np.testing.assert_allclose(short.values, wanted, atol=0.05)
    for frame in (pd.DataFrame, pl.DataFrame):
        made = [frame(dict(zip(names, each.T, strict=True))) for each in (background, rows)]
        np.testing.assert_array_equal(
            Explainer(mlp_file, made[0])(made[1][list("cabed")]).values, wanted
        )


def test_images():
    nodes = [helper.make_node("ReduceMean", ["image"], ["mean"], axes=[1, 2, 3], keepdims=0)]
    shapes = {"image": (TensorProto.FLOAT, [None, 1, 4, 4])}, {"mean": (TensorProto.FLOAT, [None])}
    images = numbers(2, 1, 4, 4)
    found = Explainer(model_of(nodes, *shapes), baseline=0.0, players=patches(4, 4, size=2))(images)
    wanted = images.reshape(2, 2, 2, 2, 2).sum(axis=(2, 4)).reshape(2, 4) / 16
    np.testing.assert_allclose(found.values, wanted, atol=1e-6)


def classifier(labels):
    rows = numbers(60, 4)
    return LogisticRegression().fit(
        rows, np.array(labels)[(rows[:, 0] + rows[:, 1] ** 2 > 0.7).astype(int)]
    )


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1]])
@pytest.mark.parametrize("zipmap", [True, False])
def test_probabilities_of_a_classifier(labels, zipmap):
    estimator, rows, background = classifier(labels), numbers(3, 4, seed=2), numbers(5, 4, seed=3)
    converted = to_onnx(
        estimator, rows[:1].astype(np.float32), options={id(estimator): {"zipmap": zipmap}}
    )
    wanted = Explainer(estimator, background, output="probability")(rows)
    explainer = Explainer(converted, background)
    found = explainer(rows)
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-5)
    assert found.output_names == (wanted.output_names if zipmap else None)
    if zipmap:
        named = Explainer(converted, background, output=str(labels[1]))(rows)
        np.testing.assert_array_equal(named.values, found.values[..., 1])


def test_a_regression():
    rows = numbers(40, 4)
    estimator = LinearRegression().fit(rows, rows @ [1.0, -2.0, 0.5, 0.0])
    found = Explainer(to_onnx(estimator, rows[:1].astype(np.float32)), baseline=0.0)(rows[:2])
    np.testing.assert_allclose(found.values, rows[:2] * [1.0, -2.0, 0.5, 0.0], atol=1e-5)


@pytest.fixture(scope="module")
def columns():
    """A pipeline over columns of numbers and texts, its ONNX model with one input per column, and
    its rows.
    """
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "age (years)": rng.normal(size=80).astype(np.float32),
            "rooms": rng.integers(1, 6, 80),
            "city": rng.choice(["Bonn", "Graz", "Lyon"], 80),
        }
    )
    scaled = ["age (years)", "rooms"]
    steps = ColumnTransformer(
        [("numbers", StandardScaler(), scaled), ("texts", OneHotEncoder(), ["city"])]
    )
    pipeline = make_pipeline(steps, LogisticRegression()).fit(
        frame, frame.rooms + (frame.city == "Graz") > 3
    )
    return pipeline, to_onnx(pipeline, frame[:1]), frame


def test_one_input_per_column(columns):
    pipeline, converted, frame = columns
    background, rows = frame[:8], frame[8:12]
    wanted = Explainer(pipeline, background, output="probability")(rows).values
    explainer = Explainer(converted, background)
    np.testing.assert_allclose(explainer(rows).values, wanted, atol=1e-5)
    np.testing.assert_allclose(
        explainer(rows[["city", "rooms", "age (years)"]]).values, wanted, atol=1e-5
    )
    found = Explainer(converted, pl.from_pandas(background))(pl.from_pandas(rows))
    np.testing.assert_allclose(found.values, wanted, atol=1e-5)
    found = Explainer(converted, background.to_numpy(dtype=object))(rows.to_numpy(dtype=object))
    np.testing.assert_allclose(found.values, wanted, atol=1e-5)


def test_columns_that_do_not_match_the_inputs_are_told(columns):
    _, converted, frame = columns
    with pytest.raises(
        InputError,
        match=r"data must have a column for each input of the model; got no city. Its inputs are",
    ):
        Explainer(converted, frame[["age (years)", "rooms"]])
    with pytest.raises(
        InputError,
        match="data must have the columns age__years_, rooms, city as the model has inputs",
    ):
        Explainer(converted, numbers(3, 2))
    with pytest.raises(
        InputError,
        match=r"got city, rooms, age__years_. Put them in this order, or give a DataFrame",
    ):
        Explainer(converted, numbers(3, 3), feature_names=["city", "rooms", "age__years_"])


def label_and_distance():
    """A label that is a whole number before the floats that it comes from, as clusterings have
    it.
    """
    nodes = [
        helper.make_node("Abs", ["rows"], ["distance"]),
        helper.make_node("ArgMax", ["distance"], ["label"], axis=1, keepdims=0),
    ]
    outputs = {"label": (TensorProto.INT64, ["m"]), "distance": (TensorProto.FLOAT, ["m", 2])}
    return model_of(nodes, {"rows": (TensorProto.FLOAT, ["m", 2])}, outputs)


def two_outputs(first, second, kind=TensorProto.FLOAT):
    nodes = [
        helper.make_node("Neg", ["rows"], [first]),
        helper.make_node("Abs", ["rows"], [second]),
    ]
    return model_of(
        nodes, {"rows": (kind, ["m", 2])}, {first: (kind, ["m", 2]), second: (kind, ["m", 2])}
    )


def test_the_output_to_explain():
    rows, ambiguous = np.array([[1.0, -2.0]]), two_outputs("scores", "heat")
    with pytest.raises(
        InputError,
        match=r"model must have one output of numbers; got the outputs scores, heat. Name the one",
    ):
        Explainer(ambiguous, baseline=0.0)
    assert Explainer(ambiguous, baseline=0.0, predict="heat")(rows).predictions.tolist() == [
        [1.0, 2.0]
    ]
    assert Explainer(two_outputs("scores", "Probability"), baseline=0.0)(
        rows
    ).predictions.tolist() == [[1.0, 2.0]]
    assert Explainer(label_and_distance(), baseline=0.0)(rows).predictions.tolist() == [[1.0, 2.0]]
    assert Explainer(label_and_distance(), baseline=0.0, predict="label")(
        rows
    ).predictions.tolist() == [1.0]
    with pytest.raises(
        InputError, match="predict must name one of the outputs scores, heat; got logits"
    ):
        Explainer(ambiguous, baseline=0.0, predict="logits")


def test_labels_that_are_texts_are_never_chosen():
    converted = to_onnx(classifier(["no", "yes"]), np.zeros((1, 4), np.float32))
    with pytest.raises(
        InputError,
        match="predict must name one of the outputs output_probability; got output_label",
    ):
        Explainer(converted, baseline=0.0, predict="output_label")


@pytest.mark.parametrize(
    "kind", [TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT8]
)
def test_rows_are_cast_to_the_input(kind):
    found = Explainer(two_outputs("out", "heat", kind), baseline=0.0, predict="heat")(
        np.array([[1.0, -3.0]])
    )
    np.testing.assert_allclose(found.values, [[[1.0, 0.0], [0.0, 3.0]]])


def test_a_fixed_number_of_rows_is_told():
    nodes = [helper.make_node("Neg", ["rows"], ["out"])]
    fixed = model_of(
        nodes, {"rows": (TensorProto.FLOAT, [1, 2])}, {"out": (TensorProto.FLOAT, [1, 2])}
    )
    with pytest.raises(
        InputError,
        match=r"model must take any number of rows; got 1 rows at a time in input 'rows'. Export",
    ):
        Explainer(fixed, baseline=0.0)


def test_an_input_that_is_no_table_is_told():
    nodes = [helper.make_node("SequenceLength", ["parts"], ["out"])]
    graph = helper.make_graph(
        nodes,
        "a sequence",
        [helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("out", TensorProto.INT64, [])],
    )
    sequence = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    with pytest.raises(
        InputError,
        match=r"model must take tensors of numbers or texts; got seq\(tensor\(float\)\) in input 'parts'",
    ):
        Explainer(sequence, baseline=0.0)


def test_files_that_are_not_there_or_no_models_are_told(tmp_path):
    with pytest.raises(
        InputError,
        match=r"model must be an ONNX file that exists; got .*gone.onnx. Check its path.",
    ):
        Explainer(str(tmp_path / "gone.onnx"), baseline=0.0)
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(
        InputError,
        match=r"text.onnx must be an ONNX model that onnxruntime takes; got .*INVALID_PROTOBUF",
    ):
        Explainer(tmp_path / "text.onnx", baseline=0.0)
    with pytest.raises(InputError, match="model must be of a known kind or a function; got str"):
        Explainer("model.pt", baseline=0.0)
    with pytest.raises(
        InputError, match="model must be an ONNX file, model or session; got GraphProto"
    ):
        Explainer(onnx_of(mlp()).graph, baseline=0.0)


def test_rows_of_another_width_are_told(mlp_file):
    with pytest.raises(
        ModelError, match="the model must predict the rows to explain; got InvalidArgument"
    ):
        Explainer(mlp_file, baseline=0.0)(numbers(2, 4))


def test_models_from_files_travel_to_other_processes(mlp_file, monkeypatch):
    monkeypatch.chdir(mlp_file.parent)
    rows, settings = numbers(3, 5), {"method": "halved-owen", "budget": 100}
    explainer = Explainer(mlp_file.name, baseline=0.0)
    here = explainer(rows, **settings).values
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        np.testing.assert_array_equal(explainer(rows, executor=pool, **settings).values, here)
        session = Explainer(onnxruntime.InferenceSession(mlp_file), baseline=0.0)
        with pytest.raises(
            InputError,
            match="cannot pickle a session of onnxruntime: give the ONNX file's path in its place",
        ):
            session(rows, executor=pool, **settings)
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(session(rows, executor=pool, **settings).values, here)
    packed = pickle.dumps(as_model(mlp_file.name))
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(
        pickle.loads(packed).predict(rows), as_model(mlp_file).predict(rows)
    )
    in_memory = pickle.loads(pickle.dumps(as_model(onnx_of(mlp()))))
    assert isinstance(in_memory, OnnxModel)
    np.testing.assert_array_equal(in_memory.predict(rows), as_model(mlp_file).predict(rows))
