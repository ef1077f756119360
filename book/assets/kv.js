// Opened from disk, a page may not fetch its neighbours, so the search page lists
// titles without excerpts there instead of failing to load them.
if (window.location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// On a narrow page, a formula that is too wide is first broken at its wide spaces
// (\quad), then shrunk, though not below 80 percent, which would be hard to read.
// What is still wider scrolls, by keyboard as well, so that it must take the focus.
// kv.css says how the two marks set here look.
function fitFormulas() {
  for (const box of document.querySelectorAll('mjx-container[display="true"]')) {
    box.style.removeProperty("--kv-fit");
    box.classList.remove("kv-stacked", "kv-scrolls");
    box.removeAttribute("tabindex");
    const width = box.clientWidth;
    if (width === 0 || box.scrollWidth <= width) continue;
    box.classList.add("kv-stacked");
    const fit = (width / box.scrollWidth) * 0.99;
    if (fit < 0.99) box.style.setProperty("--kv-fit", Math.max(0.8, fit));
    if (box.scrollWidth > width) {
      box.classList.add("kv-scrolls");
      box.tabIndex = 0;
    }
  }
}
window.addEventListener("load", () => {
  if (window.MathJax && MathJax.startup) {
    MathJax.startup.promise.then(fitFormulas);
    window.addEventListener("resize", fitFormulas);
  }
});
