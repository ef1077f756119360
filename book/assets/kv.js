// Opened from disk, a page may not fetch its neighbours, so the search page lists
// titles without excerpts there instead of failing to load them.
if (window.location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
