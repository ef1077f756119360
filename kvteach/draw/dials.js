// Figures with sliders. Each entry of `dials` gets the values of its controls, by name,
// and shows what follows. root: the figure; data: what the build computed.
const all = (query) => [...root.querySelectorAll(query)];
const say = (name, text) => {
  const place = root.querySelector(`[data-say="${name}"]`);
  if (place.textContent !== String(text)) place.textContent = text;
};
const slide = (name, text) => {
  root.querySelector(`input[data-set="${name}"]`).setAttribute("aria-valuetext", text);
  say(name, text);
};
const put = ([x, y]) => {
  const dot = root.querySelector("[data-dot]");
  dot.setAttribute("cx", x);
  dot.setAttribute("cy", y);
};
const line = (key, xs, ys) => root.querySelector(`[data-line="${key}"]`)
  .setAttribute("points", xs.map((x, i) => `${x},${ys[i]}`).join(" "));
const bar = (key, value, top) => {
  root.querySelector(`[data-bar="${key}"]`).style.width =
    `${(100 * Math.min(Math.max(value / top, 0), 1)).toFixed(1)}%`;
  say(key, value.toFixed(2));
};
const sum = (values) => values.reduce((total, x) => total + x, 0);

const dials = {
  contour({ level }) {
    const counts = data.counts[level], [layers, heads, length] = data.shape;
    const megabytes = (keys) => `${(keys * data.key / 1e6).toFixed(2)} MB`;
    slide("level", data.stops[level]);
    all("rect").forEach((cell, i) => {
      cell.setAttribute("fill-opacity", Math.sqrt(counts[i] / length).toFixed(3));
      cell.querySelector("title").textContent =
        `layer ${Math.floor(i / heads)}, head ${i % heads}: ${counts[i]} keys`;
    });
    say("mean", (sum(counts) / counts.length).toFixed(1));
    say("few", `${Math.min(...counts)} to ${Math.max(...counts)}`);
    say("ragged", megabytes(sum(counts)));
    say("padded", megabytes(data.padded[level]));
  },

  gaps({ row, eta }) {
    const now = data.rows[row];
    slide("eta", data.stops[eta]);
    root.querySelector("[data-line]").setAttribute("points", now.points);
    put(now.at[eta]);
    say("keys", `${now.keys[eta]} of ${now.n}`);
    say("mass", now.mass[eta].toFixed(4));
    say("gap", now.gap[eta].toFixed(2));
  },

  slot({ head, slot, held, on }) {
    const which = slot + 1, now = on ? which : 0, other = on ? 0 : which;
    slide("held", data.stops[held]);
    line("0", data.xs, data.lines[head][0]);
    line("1", data.xs, data.lines[head][which]);
    put([data.xs[held], data.lines[head][now][held]]);
    say("what", on ? `${data.stops[held] - 1} keys and a slot` : `${data.stops[held]} keys`);
    say("error", data.errors[now][head][held].toFixed(3));
    say("other", data.errors[other][head][held].toFixed(3));
  },

  voters({ who, rows, share }) {
    slide("rows", data.windows[rows]);
    slide("share", data.shares[share]);
    data.lines.forEach((condition, i) => line(i, data.xs, condition[share]));
    put([data.xs[rows], data.lines[who][share][rows]]);
    say("held", `${data.holds[who][share][rows]} of ${data.heads}`);
    say("keys", `${data.kept[who][share]} of ${data.lengths[who]}`);
  },

  vote({ group, tau }) {
    const { entropy, pages } = data.groups[group], least = Math.min(...entropy);
    const weights = entropy.map((h) => Math.exp((least - h) / data.taus[tau]));
    const votes = weights.map((w) => w / sum(weights));
    const even = entropy.map(() => 1 / entropy.length);
    const stand = (weight) => {
      const best = pages.map((keys) => Math.max(
        ...keys.map((key) => sum(key.map((p, h) => p * weight[h])))));
      const own = best[data.needle];
      return [own.toFixed(4), `${best.filter((x) => x >= own).length} of ${best.length}`];
    };
    slide("tau", data.stops[tau]);
    all(".kv-bars > div > span").forEach((label, h) => {
      label.textContent = `head ${h}, entropy ${entropy[h].toFixed(2)}`;
      bar(`vote-${h}`, votes[h], 1);
    });
    const [pooled, rank] = stand(votes), [mean, place] = stand(even);
    Object.entries({ pooled, rank, mean, place }).forEach(([name, text]) => say(name, text));
  },

  step({ machine, users, tokens, held }) {
    const [bandwidth, peak] = data.machines[machine];
    const n = data.users[users], length = data.tokens[tokens], share = data.held[held];
    const cache = n * length * share * data.token;
    const flop = 2 * n * data.parameters + 2 * data.group * cache / data.item;
    const times = [data.parameters * data.item / bandwidth, cache / bandwidth, flop / peak]
      .map((seconds) => 1000 * seconds);
    const memory = times[0] + times[1], least = Math.max(memory, times[2]);
    slide("users", n);
    slide("tokens", length.toLocaleString("en"));
    slide("held", `${Math.round(100 * share)}%`);
    times.forEach((time, i) => bar(`ms-${i}`, time, Math.max(...times)));
    say("cache", `${(cache / 1e9).toFixed(1)} GB`);
    say("least", least.toFixed(2));
    say("rate", (1000 * n / least).toFixed(1));
    say("limit", memory >= times[2] ? "memory" : "arithmetic");
  },

  // Q + (c / p Z) e^Q = R + c with sum e^Q = Z: bisect log Z; in it, bisect every Q.
  caution({ c, share }) {
    const n = data.mean.length, push = data.cautions[c], first = data.shares[share];
    const shares = data.mean.map((_, a) => (a ? (1 - first) / (n - 1) : first));
    const bisect = (low, high, above) => {
      for (let i = 0; i < 80; i++) {
        const middle = (low + high) / 2;
        if (above(middle)) high = middle; else low = middle;
      }
      return (low + high) / 2;
    };
    const values = (logZ) => data.mean.map((reward, a) => bisect(-50, reward + push,
      (q) => q + push / shares[a] * Math.exp(q - logZ) > reward + push));
    const total = (q) => Math.log(sum(q.map(Math.exp)));
    const q = values(bisect(-50, 50, (logZ) => total(values(logZ)) < logZ));
    const best = q.indexOf(Math.max(...q));
    slide("c", push.toFixed(2));
    slide("share", `${Math.round(100 * first)}%`);
    all(".kv-bars > div").forEach((row, a) => {
      bar(`q-${a}`, q[a], data.top);
      row.classList.toggle("chosen", a === best);
    });
    say("chosen", `action ${best}`);
    say("lost", (Math.max(...data.mean) - data.mean[best]).toFixed(2));
  },
};

const controls = all("[data-set]");
const show = () => dials[data.dial](Object.fromEntries(controls.map((control) => [
  control.dataset.set, control.type === "checkbox" ? control.checked : Number(control.value),
])));
controls.forEach((control) => control.addEventListener("input", show));
show();
