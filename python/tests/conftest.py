"""Fixtures. Scenario tests run on each package that is installed, ours and upstream's: what they ask holds for both."""

import importlib

import pytest


@pytest.fixture(params=["sardonyx", "onnxruntime"])
def ort(request):
    """The package under test."""
    return pytest.importorskip(request.param)


@pytest.fixture
def sdx():
    """Ours, where only ours is meant."""
    return importlib.import_module("sardonyx")
