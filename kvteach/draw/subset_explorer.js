// Pick the kept keys of one real row; everything is recomputed in the page.
// data: p[n], gram[n][n] of the deviations, plane[n][2], labels[n], start[n].
const keys = [...root.querySelectorAll("button[data-key]")];
const say = (name, text) => {
  root.querySelector(`[data-say="${name}"]`).textContent = text;
};
const n = data.p.length;

function error(kept) {
  let squared = 0, mass = 0;
  for (let i = 0; i < n; i++) {
    if (!kept[i]) continue;
    mass += data.p[i];
    for (let j = 0; j < n; j++) if (kept[j]) squared += data.gram[i][j];
  }
  return { mass, error: Math.sqrt(Math.max(squared, 0)) / mass };
}

function heaviest(size) {
  const order = [...data.p.keys()].sort((a, b) => data.p[b] - data.p[a] || a - b);
  const kept = Array(n).fill(false);
  order.slice(0, size).forEach((i) => { kept[i] = true; });
  return kept;
}

const bestOf = {};
function best(size) {
  if (bestOf[size]) return bestOf[size];
  let least = Infinity, winner = null;
  for (let bits = 1; bits < 1 << n; bits++) {
    let count = 0;
    for (let b = bits; b; b &= b - 1) count++;
    if (count !== size) continue;
    const kept = Array.from({ length: n }, (_, i) => Boolean(bits >> i & 1));
    const e = error(kept).error;
    if (e < least) { least = e; winner = kept; }
  }
  return (bestOf[size] = winner);
}

let kept = data.start.slice();

function show() {
  const size = kept.filter(Boolean).length;
  keys.forEach((key, i) => {
    key.setAttribute("aria-pressed", kept[i]);
    root.querySelector(`circle[data-key="${i}"]`).classList.toggle("kept", kept[i]);
  });
  for (const name of ["heaviest", "best"]) {
    root.querySelector(`[data-do="${name}"]`).disabled = size === 0;
  }
  if (size === 0) {
    for (const name of ["mass", "gap", "error", "heaviest", "best"]) say(name, "–");
    say("size", "0");
    return;
  }
  const now = error(kept), dropped = 1 - now.mass;
  say("size", size);
  say("mass", dropped.toFixed(3));
  say("gap", (now.error / dropped).toFixed(3));
  say("error", now.error.toFixed(4));
  say("heaviest", error(heaviest(size)).error.toFixed(4));
  say("best", error(best(size)).error.toFixed(4));
  const at = [0, 1].map((axis) =>
    kept.reduce((sum, k, i) => sum + (k ? data.p[i] * data.plane[i][axis] : 0), 0) / now.mass);
  const line = root.querySelector("line.error"), dot = root.querySelector("circle.forced");
  line.setAttribute("x2", at[0]);
  line.setAttribute("y2", at[1]);
  dot.setAttribute("cx", at[0]);
  dot.setAttribute("cy", at[1]);
}

keys.forEach((key, i) => key.addEventListener("click", () => { kept[i] = !kept[i]; show(); }));
root.querySelector('[data-do="heaviest"]').addEventListener("click", () => {
  kept = heaviest(kept.filter(Boolean).length);
  show();
});
root.querySelector('[data-do="best"]').addEventListener("click", () => {
  kept = best(kept.filter(Boolean).length).slice();
  show();
});
show();
