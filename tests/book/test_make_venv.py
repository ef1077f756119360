"""Making the environment: supported Pythons, interruptions, no needless work."""

import make_venv
import pytest


@pytest.mark.parametrize("version", [(3, 9), (3, 14), (2, 7), (4, 0)])
def test_other_pythons_are_refused(version):
    with pytest.raises(make_venv.InstallError, match=r"3\.10 to 3\.13"):
        make_venv.check_python(version)


@pytest.mark.parametrize("version", [(3, 10), (3, 11), (3, 12), (3, 13)])
def test_supported_pythons(version):
    make_venv.check_python(version)


@pytest.fixture
def steps(monkeypatch):
    """Replace the slow steps by records of their names."""
    done = []

    def create(venv):
        done.append("create")
        (venv / "bin").mkdir(exist_ok=True)
        (venv / "bin" / "python").touch()

    def install(venv):
        done.append("install")
        (venv / "half installed").touch()

    monkeypatch.setattr(make_venv, "check_python", lambda: None)
    monkeypatch.setattr(make_venv, "create", create)
    monkeypatch.setattr(make_venv, "install", install)
    return done


def test_a_second_run_does_nothing(tmp_path, steps):
    venv = tmp_path / "venv with space"
    make_venv.ensure(venv)
    make_venv.ensure(venv)
    assert steps == ["create", "install"]


def test_changed_requirements_are_installed_into_the_same_environment(tmp_path, steps, monkeypatch):
    make_venv.ensure(tmp_path / "venv")
    monkeypatch.setattr(make_venv, "fingerprint", lambda *_: "other requirements")
    make_venv.ensure(tmp_path / "venv")
    assert steps == ["create", "install", "install"]


def test_an_interrupted_installation_starts_afresh(tmp_path, steps, monkeypatch):
    venv = tmp_path / "venv"
    whole = make_venv.install

    def interrupted(place):
        whole(place)
        raise KeyboardInterrupt

    monkeypatch.setattr(make_venv, "install", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_venv.ensure(venv)
    (venv / "left over").touch()
    monkeypatch.setattr(make_venv, "install", whole)
    make_venv.ensure(venv)
    assert steps == ["create", "install", "create", "install"]
    assert not (venv / "left over").exists() and not (venv / "unfinished").exists()


def test_the_key_covers_contents_and_place(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "requirements.txt").write_text("x==1")
    files = ["requirements.txt"]
    first = make_venv.fingerprint(tmp_path / "a", files)
    assert first == make_venv.fingerprint(tmp_path / "a", files)
    assert first != make_venv.fingerprint(tmp_path / "b", files)
    (tmp_path / "a" / "requirements.txt").write_text("x==2")
    assert first != make_venv.fingerprint(tmp_path / "a", files)


def test_a_failing_command_shows_the_end_of_its_output(tmp_path, capsys):
    import sys

    command = [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"]
    with pytest.raises(make_venv.InstallError, match="the reason"):
        make_venv.run(command, tmp_path, "Trying")


@pytest.mark.parametrize("version, accepted", [("1.0.4.post1", True), ("2.1.7", False), ("", False)])
def test_only_jupyter_book_1_is_accepted(monkeypatch, version, accepted):
    class Done:
        stdout = version

    monkeypatch.setattr(make_venv.subprocess, "run", lambda *_, **__: Done)
    if accepted:
        make_venv.require_jupyter_book_1(make_venv.VENV)
    else:
        with pytest.raises(make_venv.InstallError, match="needs 1.x"):
            make_venv.require_jupyter_book_1(make_venv.VENV)
