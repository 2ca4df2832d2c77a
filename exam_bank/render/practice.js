"use strict";
// One script for the whole page: feedback, new variants, timer, progress. No request goes anywhere.
(() => {
  const exam = document.body.dataset.exam;
  const store = {
    read() { try { return JSON.parse(localStorage.getItem(exam)) || {}; } catch { return {}; } },
    write(value) { try { localStorage.setItem(exam, JSON.stringify(value)); } catch { /* private mode: no memory */ } },
    clear() { try { localStorage.removeItem(exam); } catch { /* nothing kept */ } },
  };
  let state = store.read();
  const save = () => store.write(state);
  const of = (id) => (state[id] ??= { variant: 0, parts: {} });

  const number = (text) => {
    const plain = text.trim().replace(/[\u2212\u2013]/g, "-").replace(/[\s\u00a0\u2009\u202f]/g, "");
    const sides = plain.split("/");
    if (sides.length === 2) { const a = number(sides[0]), b = number(sides[1]); return b ? a / b : NaN; }
    const one = /^[-+]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?(e[-+]?\d{1,3})?$/i;
    return plain && one.test(plain) && /\d/.test(plain) ? Number(plain.replace(/,/g, "")) : NaN;
  };
  const normal = (text) => text.trim().toLowerCase().replace(/\s+/g, " ");
  const near = (key, given, spec) => {
    const a = number(key), b = number(given);
    if (!spec.tolerance || Number.isNaN(a)) { return !Number.isNaN(a) && !Number.isNaN(b) ? a === b : normal(key) === normal(given); }
    const room = Math.max(spec.tolerance.abs, spec.tolerance.rel * Math.abs(a));
    return Math.abs(a - b) <= room * (1 + 1e-9) + 1e-12 * Math.abs(a);
  };
  const spelled = (spec, given) => spec.key.some((key) => spec.exact ? key.trim() === given.trim() : normal(key) === normal(given));

  const inputs = (part) => [...part.querySelectorAll("input, select, textarea")];
  const response = (part) => inputs(part).map((field) => /radio|checkbox/.test(field.type) ? field.checked : field.value);
  const put = (part, values) => inputs(part).forEach((field, i) => {
    if (/radio|checkbox/.test(field.type)) { field.checked = Boolean(values[i]); } else { field.value = values[i] ?? ""; }
  });

  // Points for a part, and which fields are right.
  const judge = (part) => {
    const spec = JSON.parse(part.dataset.key), fields = inputs(part);
    if (spec.kind === "choice") {
      const right = fields.map((field) => field.dataset.right === "1");
      const hits = fields.filter((field, i) => field.checked && right[i]).length;
      const misses = fields.filter((field, i) => field.checked && !right[i]).length;
      const all = right.filter(Boolean).length;
      const share = spec.credit === "each" ? Math.max(0, hits - misses) / all : Number(hits === all && misses === 0);
      return { points: spec.points * share, full: share === 1 };
    }
    const good = fields.map((field, i) => spec.kind === "short" ? spelled(spec, field.value)
      : spec.kind === "match" ? field.value === spec.key[i] : near(spec.key[i], field.value, spec));
    fields.forEach((field, i) => field.setAttribute("aria-invalid", String(!good[i])));
    const count = good.filter(Boolean).length;
    const share = spec.cells ? count / good.length : Number(count === good.length);
    return { points: spec.points * share, full: share === 1 };
  };

  const shown = (points) => String(Math.round(points * 100) / 100);
  const answered = (part) => response(part).some((value) => value === true || (typeof value === "string" && value.trim()));

  const feedback = (part, result) => {
    const spec = JSON.parse(part.dataset.key), out = part.querySelector("output");
    part.classList.toggle("right", result.full);
    part.classList.toggle("wrong", !result.full);
    const whys = inputs(part).filter((field) => field.checked && field.dataset.why).map((field) => field.dataset.why);
    out.textContent = (result.full ? "\u2713 Right" : result.points > 0 ? "\u25d0 Partly right" : "\u2717 Not right")
      + `: ${shown(result.points)} of ${spec.points}. ${whys.join(" ")}`;
    part.querySelector("details").open = true;
    part.closest("article").querySelector("details.solution").open = true;
  };
  // A verdict belongs to the answer that was checked: it goes when the answer changes. The points stay until the next check.
  const unmark = (part) => {
    part.classList.remove("right", "wrong");
    part.querySelector("output").textContent = "";
    inputs(part).forEach((field) => field.removeAttribute("aria-invalid"));
  };
  const blank = (part) => { part.querySelector("output").textContent = "Give an answer first."; };

  const check = (part, remember) => {
    const spec = JSON.parse(part.dataset.key);
    if (spec.kind === "open") { return; }
    if (!answered(part)) { blank(part); return; }
    const result = judge(part), article = part.closest("article");
    feedback(part, result);
    if (remember) { Object.assign(of(article.id).parts[part.dataset.part], { result, values: response(part), changed: false }); save(); }
    offer(article);
    total();
  };

  const parts = (article) => [...article.querySelectorAll("fieldset[data-part]")];
  const offer = (article) => {
    const button = article.querySelector("button.variant");
    if (button) { button.hidden = !Object.values(of(article.id).parts).some((part) => part.result && !part.result.full); }
  };
  const total = () => {
    let points = 0, done = 0;
    for (const entry of Object.values(state)) {
      for (const part of Object.values(entry.parts ?? {})) { if (part.result) { points += part.result.points; done += 1; } }
    }
    document.querySelector("#score").textContent = `${shown(points)} points, ${done} of ${document.querySelectorAll("fieldset[data-gradable]").length} parts checked`;
  };

  const show = (article, index) => {
    const body = article.querySelector(".body"), source = document.getElementById(`${article.id}-v${index}`);
    body.replaceChildren(source.content.cloneNode(true));
    wire(article);
  };
  const wire = (article) => {
    for (const part of parts(article)) {
      const entry = (of(article.id).parts[part.dataset.part] ??= {});
      if (entry.values) { put(part, entry.values); }
      if (entry.result && !entry.changed) { feedback(part, entry.result); judge(part); }
      part.addEventListener("input", () => { entry.values = response(part); entry.changed = true; unmark(part); save(); });
      part.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && event.target.matches("input")) { event.preventDefault(); check(part, true); }
      });
      part.querySelector("button.check")?.addEventListener("click", () => check(part, true));
    }
    offer(article);
  };

  for (const article of document.querySelectorAll("article.question")) {
    // The first variant stands in the page itself, so that the page works without a script.
    const first = document.createElement("template");
    first.id = `${article.id}-v0`;
    first.content.append(...[...article.querySelector(".body").childNodes].map((node) => node.cloneNode(true)));
    article.append(first);
    const count = article.querySelectorAll("template").length;
    const index = of(article.id).variant;
    if (index > 0 && index < count) { show(article, index); } else { of(article.id).variant = 0; wire(article); }
    article.querySelector("button.variant")?.addEventListener("click", () => {
      state[article.id] = { variant: (of(article.id).variant + 1) % count, parts: {} };
      save(); show(article, state[article.id].variant); total();
      article.querySelector("h3").focus();
    });
  }

  const clock = document.querySelector("#clock"), toggle = document.querySelector("#timer");
  let left = Number(document.body.dataset.minutes) * 60, ticking = 0;
  const face = () => { clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`; };
  toggle.addEventListener("click", () => {
    if (ticking) { clearInterval(ticking); ticking = 0; }
    else { ticking = setInterval(() => { left = Math.max(0, left - 1); face(); if (!left) { clearInterval(ticking); ticking = 0; clock.textContent = "Time is up"; } }, 1000); face(); }
    toggle.textContent = ticking ? "Pause timer" : "Start timer";
    toggle.setAttribute("aria-pressed", String(Boolean(ticking)));
  });
  document.querySelector("#again").addEventListener("click", () => {
    if (confirm("Forget all answers of this exam?")) { store.clear(); location.reload(); }
  });
  document.documentElement.classList.add("live");
  total();
})();
