"""Published sets, read from small files in their format."""

import json
import sys

import pytest
import torch

from kvteach.evaluate.tasks import published

STORY = "The tower was built by Ada in 1841. It burned down. " * 6
RULER = [
    {"context": STORY, "question": "What is the magic number?", "answer_prefix":
     "The magic numbers are", "answer": ["123", "456"], "task": "niah_multivalue",
     "max_new_tokens": 128},
    {"context": STORY + "More.", "question": "Which words are common?", "answer_prefix":
     "They are", "answer": ["fox"], "task": "cwe", "max_new_tokens": 50},
]
LONGBENCH = [
    {"context": STORY, "question": "Who built it?", "answer_prefix": "", "answers":
     ["Ada", "by Ada"], "all_classes": None, "task": "qasper"},
    {"context": STORY, "question": "When?", "answer_prefix": "", "answers": ["1841"],
     "all_classes": None, "task": "qasper"},
]
CHOICE = [
    {"context": STORY, "question": "Who built it?", "choice_A": "Bob", "choice_B": "Ada",
     "choice_C": "Eve", "choice_D": "Dan", "answer": "B"},
]
SQUAD = [
    {"context": STORY, "question": "Who built it?", "answers": {"text": ["Ada"],
                                                                "answer_start": [23]}},
    {"context": "Short. " * 9, "question": "How long?", "answer": "Short"},
]


def write(folder, rows, name="test.jsonl"):
    file = folder / name
    file.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    return file


def asked(tokenizer, question):
    return tokenizer.decode(question.tokens), tokenizer.decode(question.answer)


def test_ruler(bundled, tmp_path):
    read = bundled.tokenizer
    examples = published.load("ruler", read, place=write(tmp_path, RULER))
    assert [ex.task for ex in examples] == ["niah_multivalue", "cwe"]
    assert read.decode(examples[0].document) == STORY
    (question,) = examples[0].questions
    assert asked(read, question) == (
        "\n\nWhat is the magic number?\nThe magic numbers are", " 123, 456")
    assert question.accepted == ("123", "456") and examples[0].meta["scored"] == "every"
    (needles,) = published.load("needles", read, place=write(tmp_path, RULER))
    assert torch.equal(needles.document, examples[0].document)


def test_questions_on_one_context_come_together(bundled, tmp_path):
    (ex,) = published.load("longbench", bundled.tokenizer, place=write(tmp_path, LONGBENCH))
    assert [q.accepted for q in ex.questions] == [("Ada", "by Ada"), ("1841",)]
    assert asked(bundled.tokenizer, ex.questions[0]) == ("\n\nWho built it?\nAnswer:", " Ada")


def test_choices_are_listed(bundled, tmp_path):
    (ex,) = published.load("longbench-v2", bundled.tokenizer, place=write(tmp_path, CHOICE))
    question, answer = asked(bundled.tokenizer, ex.questions[0])
    assert question.endswith("(C) Eve\n(D) Dan\nThe correct answer is") and answer == " (B)"


def test_long_contexts_are_left_out_and_never_cut(bundled, tmp_path):
    file = write(tmp_path, RULER)
    everything = published.load("ruler", bundled.tokenizer, place=file)
    lengths = [ex.length for ex in everything]
    short = published.load("ruler", bundled.tokenizer, place=file, longest=min(lengths))
    assert [ex.length for ex in short] == [min(lengths)]
    assert len(published.load("ruler", bundled.tokenizer, place=file, limit=1)) == 1


def test_passages_of_the_user_are_hidden_in_prose(bundled, tmp_path):
    task = published.passages(write(tmp_path, SQUAD))
    assert not task.offered(512)
    examples = task.examples(bundled.tokenizer, 600, 6, torch.Generator().manual_seed(1))
    assert len({ex.cluster for ex in examples}) == 2
    for ex in examples:
        text = bundled.tokenizer.decode(ex.document)
        (accepted,) = ex.questions[0].accepted
        passage = STORY if accepted == "Ada" else "Short. " * 9
        assert ex.length == 600 and text.count(f"\n\n{passage}\n\n") == 1
        begin = bundled.tokenizer.decode(ex.document[: round(600 * ex.questions[0].depth)])
        assert text.index(passage) == len(begin) + 2


def test_through_datasets_from_a_folder(bundled, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "set").mkdir()
    file = write(tmp_path / "set", LONGBENCH)
    through = published.load("longbench", bundled.tokenizer, place=file.parent)
    plain = published.load("longbench", bundled.tokenizer, place=file)
    assert [q.accepted for q in through[0].questions] == [q.accepted for q in plain[0].questions]
    assert torch.equal(through[0].document, plain[0].document)


def test_without_a_network_the_message_says_what_to_do(bundled):
    pytest.importorskip("datasets")  # HF_HUB_OFFLINE is set for all tests
    with pytest.raises(published.DataError, match="'simonjegou/ruler' .4096, test. cannot be read"):
        published.load("ruler", bundled.tokenizer, "4096")


def test_without_the_package_the_message_says_what_to_do(bundled, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(published.DataError, match=r"pip install 'kvteach\[data\]'"):
        published.load("longbench", bundled.tokenizer, "qasper")


def test_what_is_wrong_is_named(bundled, tmp_path):
    with pytest.raises(ValueError, match="name: 'loogle'; there are ruler"):
        published.load("loogle", bundled.tokenizer)
    with pytest.raises(published.DataError, match="no file"):
        published.load("ruler", bundled.tokenizer, place=tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="rows: one has no 'context'"):
        published.load("ruler", bundled.tokenizer, place=write(tmp_path, [{"question": "?"}]))
    with pytest.raises(ValueError, match="rows: one has no 'choice_A'"):
        published.load("longbench-v2", bundled.tokenizer, place=write(tmp_path, RULER))
