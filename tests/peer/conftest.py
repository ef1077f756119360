"""The two models that were recorded."""

import pytest
from our_layers import subject


@pytest.fixture(scope="session", params=["tiny", "bundled"])
def both(request):
    """(name, `Subject`) of either model."""
    if request.param == "tiny":
        return "tiny", subject("tiny")
    return "bundled", subject("bundled", request.getfixturevalue("bundled").model)


@pytest.fixture(scope="session")
def tiny():
    """The `Subject` of the tiny model, for which learned scores were recorded."""
    return subject("tiny")
