"""NumPy, SciPy's sparse matrices, xarray, and PyTorch (by a stand-in of its public surface)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
import xarray as xr

from tests.kernel.inside.hostile import fake_package
from zidane_lab.kernel.inside.describe import describe, summarize


def test_an_array_shows_shape_dtype_memory_range_and_head():
    assert describe(np.arange(6.0).reshape(2, 3)).splitlines() == [
        "numpy.ndarray: 2 × 3 float64, 48 bytes, a view",
        "0 nulls, 0 to 5",
        "first values: 0, 1, 2",
    ]
    assert summarize(np.array([1, 2])) == "numpy.ndarray: 2 int64: 1, 2"


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array([1.0, np.nan]), "1 null, 1 to 1"),
        (np.array([np.nan, np.nan]), "2 nulls"),
        (np.array([True, False]), "1 of 2 are true"),
        (np.array(["2024-01-02", "NaT", "2024-02-03"], dtype="M8[D]"), "1 null, 2024-01-02 to 2024-02-03"),
        (np.array([1, 2], dtype="m8[s]"), "0 nulls, 1 seconds to 2 seconds"),
        (np.array([1 + 2j, np.nan]), "1 null"),
        (np.array(5), "5 to 5"),
        (np.array(["a", "bb"]), "first values: 'a', 'bb'"),
        (np.zeros((0, 3)), "0 × 3 float64"),
        (np.array([1, "a", None], dtype=object), "objects: 1 int, 1 str, 1 NoneType"),
        (np.zeros(2, dtype=[("x", "i4"), ("name", "U5")]), "2 record of 2 fields (x: int32, name: <U5)"),
        (np.ma.array([1, 2], mask=[True, False]), "masked array"),
        (np.array([2, 1], dtype=np.uint8), "1 to 2"),
        (np.array([np.inf, 1], dtype=np.float16), "0 nulls, 1 to inf"),
    ],
)
def test_kinds_of_arrays(array, said):
    with np.errstate(all="raise"):
        assert said in describe(array)
        assert len(summarize(array)) <= 120


def test_a_large_array_is_not_read():
    text = describe(np.broadcast_to(np.float64(1), (5000, 5000)))
    assert "range not computed: large, 25,000,000 elements" in text
    assert "a broadcast view (copied it would take 200 MB)" in text


def test_a_mapped_file_is_not_read_beyond_the_head(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(800))
    text = describe(np.memmap(path, dtype="f8", mode="r"))
    assert "mapped from the file" in text
    assert "data.bin" in text
    assert "nulls" not in text


def test_long_fixed_width_text_is_bounded():
    text = describe(np.full(1000, "x" * 5000))
    assert "[5,000 characters]" in text
    assert len(text) < 600


def test_what_a_subclass_overrides_does_not_run():
    class Loud(np.ndarray):
        def __array_finalize__(self, obj):
            if obj is not None and type(obj) is Loud:
                raise AssertionError("sliced")

        def __getitem__(self, key):
            raise AssertionError("read")

        shape = property(lambda self: 1 / 0)

    loud = np.arange(3).view(Loud)
    text = describe(loud)
    assert "failed" not in text
    assert "0 to 2" in text


def test_sparse_matrices_show_what_they_store():
    assert (
        summarize(scipy.sparse.csr_matrix([[1, 0], [0, 2]]))
        == "scipy.csr_matrix: 2 × 2 int64, 2 stored values, 16 bytes"
    )
    assert "2 stored values" in summarize(scipy.sparse.coo_array([[1.0, 0], [0, 2]]))


# --- xarray ---------------------------------------------------------------------------------------


@pytest.fixture
def dataset():
    return xr.Dataset(
        {"wind": (("time", "x"), np.ones((2, 3)))},
        coords={"x": [10, 20, 30], "height": 2.5},
        attrs={"title": "A storm"},
    )


def test_a_dataset_shows_sizes_coordinates_and_variables(dataset):
    lines = describe(dataset).splitlines()
    assert lines[0] == "xarray.Dataset: time: 2, x: 3; 1 variable: wind"
    assert "  x: (x: 3) int64" in lines
    assert "  height: () float64, 2.5" in lines
    assert "  wind: (time: 2, x: 3) float64, 1, 1, 1" in lines
    assert "attrs: {'title': 'A storm'}" in lines


def test_a_data_array(dataset):
    assert summarize(dataset.wind) == "xarray.DataArray: wind (time: 2, x: 3) float64, 1, 1, 1"
    assert "48 bytes when loaded" in describe(dataset.wind)


def test_data_that_are_not_loaded_stay_so():
    class Lazy(xr.backends.BackendArray):
        shape, dtype = (10**6, 10**6), np.dtype("f8")

        def __getitem__(self, key):
            raise AssertionError("loaded")

    lazy = xr.Variable(("x", "y"), xr.core.indexing.LazilyIndexedArray(Lazy()))
    dataset = xr.Dataset({"huge": lazy})
    text = describe(dataset)
    assert "huge: (x: 1,000,000, y: 1,000,000) float64, not loaded" in text
    assert "8 TB when loaded" in text
    assert "not loaded" in describe(dataset.huge)
    assert "not loaded" in summarize(dataset.huge)


def test_many_variables_are_cut_with_a_count():
    dataset = xr.Dataset({f"v{i}": 1.0 for i in range(500)})
    assert "more variables" in describe(dataset)
    assert len(describe(dataset)) <= 4000


# --- PyTorch --------------------------------------------------------------------------------------


class _Device:
    def __init__(self, kind):
        self.type = kind

    def __str__(self):
        return self.type


class _Dtype:
    is_floating_point, is_complex = True, False

    def __str__(self):
        return "torch.float32"


@pytest.fixture
def torch(monkeypatch):
    """Return a stand-in for PyTorch: a tensor over NumPy that refuses to be read anywhere but on the CPU."""

    class Tensor:
        requires_grad, is_leaf, is_quantized, layout, dtype = True, True, False, "torch.strided", _Dtype()

        def __init__(self, data, device="cpu", *, detached=False):
            self.data_, self.device, self.detached = np.asarray(data, "f4"), _Device(device), detached

        shape = property(lambda self: self.data_.shape)

        def _read(self):
            assert self.device.type == "cpu", "copied from the device"
            assert self.detached, "recorded for the gradient"
            return self.data_

        def numel(self):
            return self.data_.size

        def dim(self):
            return self.data_.ndim

        def element_size(self):
            return 4

        def detach(self):
            return Tensor(self.data_, self.device.type, detached=True)

        def __getitem__(self, key):
            return Tensor(self._read()[key], detached=True)

        def tolist(self):
            return self._read().tolist()

        def item(self):
            return self._read().item()

        def min(self):
            return Tensor(self._read().min(), detached=True)

        def max(self):
            return Tensor(self._read().max(), detached=True)

    class Module:
        def __init__(self):
            self.training = True
            self._parameters, self._modules = {}, {}

    fake_package(monkeypatch, "torch", Tensor=Tensor)
    fake_package(monkeypatch, "torch.nn.modules.module", Module=Module)
    return Tensor, Module


def test_a_tensor_shows_shape_dtype_device_and_values(torch):
    tensor = torch[0](np.arange(6).reshape(2, 3))
    assert summarize(tensor) == "torch.Tensor: 2 × 3 float32 on cpu, requires grad"
    lines = describe(tensor).splitlines()
    assert lines[1] == "shape (2, 3), 6 elements, 24 bytes"
    assert lines[3:] == ["0 to 5", "first values: 0, 1, 2"]
    assert "contains nan" in describe(torch[0]([np.nan, 1]))


def test_nothing_is_copied_from_a_device(torch):
    text = describe(torch[0](np.zeros(3), "cuda"))
    assert "float32 on cuda" in text
    assert "values not read" in text
    assert "failed" not in text


def test_a_tensor_of_an_unknown_subclass_is_not_looked_into(torch):
    class Mine(torch[0]):
        shape = property(lambda self: 1 / 0)

    assert "not looked into" in describe(Mine([1]))


def test_a_module_counts_its_parameters_once(torch):
    Tensor, Module = torch
    net, layer = Module(), Module()
    layer._parameters = {"weight": Tensor(np.zeros((3, 4))), "bias": None}
    net._modules = {"first": layer, "again": layer}
    net._modules["self"] = net
    text = describe(net)
    assert "12 parameters in 2 modules" in text
    assert "  first: torch.Module: 1 parameter tensor" in text


def test_no_warnings_are_raised():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "nan" in describe(np.array([np.nan, np.inf, -np.inf]))
        assert "nan" in describe(np.full(3, np.nan, dtype="f4"))
