"""The same ideas with a kernel: turn a control, and the library runs.

For notebooks only (ipywidgets): the pages of the book have no kernel, and their
figures, in kvteach.draw.widgets, dials and choices, need none.
"""

from kvteach import engine, methods

METHODS = ("streaming", "snapkv", "adakv", "contourkv", "tangent", "kvzip")


def panel(model, tokenizer, document, question=" In conclusion,", names=METHODS):
    """Choose a method and a share of the keys; see bytes, and how the model goes on.

    document: text that the model reads and whose keys are evicted; question: text that
    comes afterwards, uncompressed. names: of kvteach.methods. Returns an ipywidgets
    box; every change compresses again, which reads the whole document. Raises
    ValueError for a name that is no method.
    """
    import ipywidgets

    for name in names:
        methods.get(name)
    tokens = tokenizer(document, return_tensors="pt").input_ids
    which = ipywidgets.Dropdown(options=names, description="method")
    share = ipywidgets.FloatSlider(0.2, min=0.05, max=1, step=0.05, description="share",
                                   continuous_update=False)
    asked = ipywidgets.Text(question, description="question", continuous_update=False)
    told = ipywidgets.HTML()

    def run(_=None):
        told.value = "..."
        told.value = _report(model, tokenizer, tokens, which.value, share.value, asked.value)

    for control in (which, share, asked):
        control.observe(run, "value")
    run()
    return ipywidgets.VBox([which, share, asked, told])


def _report(model, tokenizer, tokens, method, share, question):
    """What was held and what was said, as HTML."""
    import html

    session = engine.compress(model, tokens, method, share)
    ids = tokenizer(question, return_tensors="pt", add_special_tokens=False).input_ids
    said = tokenizer.decode(session.generate(ids, max_new_tokens=20, do_sample=False)[0])
    held = session.ledger.compressed / session.ledger.full
    return (f"<p>holds {held:.1%} of the bytes of the full cache</p>"
            f"<p>{html.escape(question)}<b>{html.escape(said)}</b></p>")
