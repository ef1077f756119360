"""Fixtures of the engine's tests; what they are made of is in engine_models."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from engine_models import CONFIGS, tiny


@pytest.fixture(params=list(CONFIGS))
def any_model(request):
    return tiny(request.param)


@pytest.fixture
def llama():
    return tiny("llama")
