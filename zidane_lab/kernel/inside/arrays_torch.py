"""Describers of PyTorch tensors and modules. Nothing is copied from a device, no gradient is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zidane_lab.kernel.inside.registry import ARRAY, Describer, gist, register_name
from zidane_lab.kernel.inside.static import full_name, instance_dict, label, own
from zidane_lab.kernel.inside.tables import span
from zidane_lab.kernel.inside.text import Page, amount, clip, join, listing, megabytes
from zidane_lab.kernel.inside.values import brief, number

__all__ = ["register_torch"]

_PLAIN = frozenset({"torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"})
"""Classes whose attributes do not go through ``__torch_function__`` of somebody's subclass."""

_MODULES = 2000
"""Submodules walked to count parameters."""


def register_torch() -> None:
    """Register PyTorch by the names of its classes."""
    register_name("torch.Tensor", Describer(_gist, _lines, rank=ARRAY))
    register_name("torch.Module", Describer(_module_gist, _module_lines))
    for name in ("dtype", "device"):
        register_name(f"torch.{name}", Describer(str, form=_plain_form))


def _plain_form(value: Any, width: int, *_: int) -> str:
    return clip(str(value), width)


def _gist(tensor: Any) -> str:
    if full_name(type(tensor)) not in _PLAIN:
        return "a tensor of its own class, not looked into"
    shape = " × ".join(f"{length:,}" for length in tensor.shape) or "scalar"
    grad = ", requires grad" if tensor.requires_grad else ""
    return f"{shape} {_dtype(tensor)} on {tensor.device}{grad}"


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).replace("torch.", "")


def _lines(tensor: Any, page: Page) -> Iterator[str]:
    if full_name(type(tensor)) not in _PLAIN:
        return
    count = tensor.numel()
    yield f"shape {tuple(tensor.shape)}, {amount(count, 'element')}, {megabytes(count * tensor.element_size())}"
    yield f"layout {str(tensor.layout).replace('torch.', '')}, leaf {tensor.is_leaf}"
    if tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided" or tensor.is_quantized:
        yield "values not read: they are not ordinary numbers in main memory"
        return
    if not count:
        return
    data = tensor.detach()
    if not tensor.dtype.is_complex and page.afford(count):
        low, high = data.min().item(), data.max().item()
        yield "contains nan" if low != low else span(low, high)  # noqa: PLR0124 — nan is what differs from itself
    row = data[(0,) * (data.dim() - 1)] if data.dim() > 1 else data
    values = row[: max(page.room // 12, 1)].tolist() if row.dim() else [row.item()]
    yield f"first values: {join((number(value) for value in values), max(min(page.room - 60, 240), 20))}"


def _parts(module: Any, name: str) -> dict[str, Any]:
    found = (instance_dict(module) or {}).get(name)
    return {key: part for key, part in found.items() if part is not None} if type(found) is dict else {}


def _count(module: Any) -> tuple[int, int, bool]:
    """Return parameters and modules below ``module``, each once, and whether all of them were walked."""
    waiting, modules, seen, total = [module], {id(module)}, set(), 0
    while waiting and len(modules) <= _MODULES:
        here = waiting.pop()
        for tensor in _parts(here, "_parameters").values():
            if id(tensor) not in seen and full_name(type(tensor)) in _PLAIN:
                seen.add(id(tensor))
                total += tensor.numel()
        for child in _parts(here, "_modules").values():
            if id(child) not in modules:
                modules.add(id(child))
                waiting.append(child)
    return total, len(modules), not waiting


def _module_gist(module: Any) -> str:
    children = _parts(module, "_modules")
    own_count = len(_parts(module, "_parameters"))
    names = join(
        (f"{name}: {label(type(child)).rpartition('.')[2]}" for name, child in list(children.items())[:12]), 80
    )
    return names or amount(own_count, "parameter tensor")


def _module_lines(module: Any, page: Page) -> Iterator[str]:
    total, modules, whole = _count(module)
    yield f"{'' if whole else 'more than '}{amount(total, 'parameter')} in {amount(modules, 'module')}"
    training = own(module, "training")
    yield f"training mode: {brief(training, 10)}"
    children, tensors = _parts(module, "_modules"), _parts(module, "_parameters")
    rows = [f"  {name}: {label(type(child))}: {gist(child, 80)}" for name, child in list(children.items())[:500]]
    rows += [f"  {name}: {label(type(tensor))}: {gist(tensor, 80)}" for name, tensor in list(tensors.items())[:500]]
    yield from listing(page, rows, len(children) + len(tensors), "part")
