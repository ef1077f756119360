# Two commands matter: `make book` and `make test`. `make help` lists the rest.
# PYTHON names the interpreter that .venv is made from, 3.10 to 3.13.
PYTHON ?= python3
PY := .venv/bin/python
PORT ?= 8000
BROWSER := $(shell command -v chromium chromium-browser google-chrome 2>/dev/null | head -n 1)

.PHONY: help book test serve pdf cover lab notebooks run-notebooks exercises peer clean venv

help:
	@echo "make book          install what is needed, run and render every chapter"
	@echo "make test          run all tests"
	@echo "make serve         show the built book on a local web server"
	@echo "make pdf           print the whole book into _build/kvteach.pdf (needs Chromium)"
	@echo "make cover         draw the picture of the first page"
	@echo "make lab           open the chapters as notebooks in JupyterLab"
	@echo "make notebooks     write each chapter as an .ipynb into _build/notebooks"
	@echo "make run-notebooks run every one of them from top to bottom"
	@echo "make exercises     write the exercise stubs from the worked solutions"
	@echo "make peer          record what the kvpress library keeps, for the tests"
	@echo "make clean         delete what was built (.venv stays)"

venv:
	@$(PYTHON) tools/make_venv.py

book: venv
	@$(PY) tools/build_book.py

test: venv
ifneq ($(BROWSER),)
	@$(PYTHON) tools/make_venv.py requirements-browser.txt
endif
	@$(PY) -m pytest tests

serve: book
	@$(PY) tools/book_serve.py --port $(PORT)

pdf: book
	@$(PYTHON) tools/make_venv.py requirements-browser.txt
	@$(PY) tools/print_book.py

cover: venv
	@HF_HUB_OFFLINE=1 TQDM_DISABLE=1 $(PY) tools/draw_cover.py

lab: venv
	@$(PYTHON) tools/make_venv.py requirements-lab.txt
	@$(PY) tools/book_lab.py

notebooks: venv
	@$(PY) tools/notebooks.py

run-notebooks: notebooks
	@$(PY) tools/run_notebooks.py

exercises: venv
	@$(PY) -m kvteach.grading.stubs

peer: venv
	@$(PY) tools/peer_fixtures.py

clean:
	rm -rf _build build .pytest_cache
