"""Fixtures that several tests share. Models are loaded once a run."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch
from hypothesis import settings

# A busy machine is no failing property.
settings.register_profile("kvteach", deadline=None)
settings.load_profile("kvteach")


@pytest.fixture(scope="session")
def bundled():
    """The bundled model in float32 on the CPU."""
    from kvteach import models

    return models.load(device="cpu")


@pytest.fixture(scope="session")
def speech(bundled):
    """Token ids of a real English document, [1024]."""
    from kvteach import corpora

    return corpora.documents("english")[120].tokens(bundled.tokenizer, 1024)


@pytest.fixture
def generator():
    """A seeded torch generator; tests never draw from the global one."""
    return torch.Generator().manual_seed(20260830)
