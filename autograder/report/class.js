"use strict";
(() => {
  const block = document.getElementById("data");
  const data = block ? JSON.parse(block.textContent) : null;
  const overview = document.getElementById("overview");
  const one = document.getElementById("one");
  const words = {
    p: ["right", "✓ Right"], f: ["wrong", "✗ Not right"], b: ["blocked", "– Not tried"],
    g: ["fault", "! The grader failed; the points are open"],
  };
  const reasons = { wrong: "the values differ", raised: "it raised an exception", shape: "wrong shape", dtype: "wrong dtype" };

  function make(tag, text, attributes) {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    return node;
  }

  // What stands between backticks is code; everything goes in as text.
  function prose(tag, text, attributes) {
    const node = make(tag, null, attributes);
    text.split("`").forEach((part, index, all) => {
      node.append(index % 2 && index + 1 < all.length ? make("code", part) : (index % 2 ? "`" : "") + part);
    });
    return node;
  }

  // ── sorting ──
  function sortBy(table, column, numeric, direction) {
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const cell = row.cells[column];
      const value = cell.dataset.value ?? cell.textContent;
      return [numeric ? Number.parseFloat(value) || 0 : value, row];
    });
    const compare = numeric
      ? (a, b) => a[0] - b[0]
      : (a, b) => a[0].localeCompare(b[0], undefined, { numeric: true, sensitivity: "base" });
    keyed.sort((a, b) => direction * compare(a, b));
    body.append(...keyed.map(([, row]) => row));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", head.textContent, { type: "button", title: "Sort by this column" });
      const numeric = head.dataset.sort.startsWith("number");
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "descending" : "ascending");
        sortBy(table, column, numeric, up ? -1 : 1);
      });
    });
  }

  // ── search ──
  const search = document.getElementById("search");
  if (search && data) {
    const rows = [...document.querySelectorAll("#list tbody tr")];
    const texts = new Map(rows.map((row) => {
      const student = data.students[Number(row.querySelector("a").hash.slice("#student-".length))];
      const mistakes = (student.judged || []).flatMap((judged) => judged.slice(3));
      const fields = [student.name, student.sid, student.email, student.section, student.id, student.status, student.problem];
      return [row, [...fields, ...mistakes].filter(Boolean).join(" ").toLowerCase()];
    }));
    const found = document.getElementById("found");
    search.addEventListener("input", () => {
      const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, text] of texts) {
        row.hidden = !terms.every((term) => text.includes(term));
        shown += row.hidden ? 0 : 1;
      }
      found.textContent = terms.length ? `${shown} of ${rows.length} students` : `${rows.length} students`;
    });
  }

  // ── a page per student ──
  function facts(student) {
    const list = make("dl");
    const rows = [
      ["SID", student.sid], ["E-mail", student.email], ["Section", student.section], ["Status", student.status],
      ["Submission", student.id], ["Seconds", student.seconds === undefined ? "" : student.seconds.toFixed(1)],
      ["To look at", student.problem],
    ];
    for (const [label, value] of rows) {
      if (value) list.append(make("dt", label), make("dd", value));
    }
    if (student.link) {
      const files = make("dd");
      for (const name of ["report.html", "executed.ipynb", "results.json"]) {
        files.append(make("a", name, { href: `${student.link}/${name}` }), " ");
      }
      list.append(make("dt", "Files"), files);
    }
    return list;
  }

  function check(spec, judged) {
    const [number, claim, points] = spec;
    const [code, earned, reason, ...mistakes] = judged;
    let [kind, word] = words[code];
    if (code === "f" && earned !== "0") word = "◐ Partly right";
    if (reason && code !== "p" && code !== "g") word += `: ${reasons[reason] || reason.replaceAll("-", " ").replace(":", ", ")}`;
    const article = make("article", null, { class: `check ${kind}` });
    const head = make("div", null, { class: "check-head" });
    head.append(prose("h3", `${number} ${claim}`), make("span", `${earned} / ${points}`, { class: "score" }));
    article.append(head, make("p", word, { class: "verdict" }));
    for (const name of mistakes) {
      article.append(prose("p", `${name}: ${data.hints[name] || ""}`, { class: "lead" }));
    }
    return article;
  }

  function back(place) {
    const links = make("nav", null, { class: "back", "aria-label": "Students" });
    links.append(make("a", "← All students", { href: "#students" }));
    if (place > 0) links.append(make("a", "Previous", { href: `#student-${place - 1}` }));
    if (place + 1 < data.students.length) links.append(make("a", "Next", { href: `#student-${place + 1}` }));
    return links;
  }

  function show(place) {
    const student = data.students[place];
    const parts = [back(place), make("h2", student.name || student.id, { tabindex: "-1" })];
    const sum = make("p", null, { class: "sum" });
    sum.append(make("strong", `${student.points ?? "–"} / ${data.total}`), make("span", "points"));
    parts.push(sum, facts(student));
    let question = null;
    (student.judged || []).forEach((judged, index) => {
      const spec = data.checks[index];
      if (spec[3] !== question) {
        question = spec[3];
        parts.push(make("h2", `${question} ${data.questions[question] || ""}`, { class: "question-head" }));
      }
      parts.push(check(spec, judged));
    });
    if (student.notes) {
      const list = make("ul", null, { class: "notes" });
      student.notes.forEach((note) => list.append(make("li", note)));
      parts.push(make("h2", "Notes for staff"), list);
    }
    one.replaceChildren(...parts);
  }

  function route(event) {
    const found = /^#student-(\d+)$/.exec(location.hash);
    const place = found ? Number(found[1]) : -1;
    const single = data !== null && place >= 0 && place < data.students.length;
    overview.hidden = single;
    one.hidden = !single;
    if (single) {
      show(place);
      scrollTo(0, 0);
      if (event) one.querySelector("h2").focus();
    } else if (event && location.hash.length > 1) {
      document.getElementById(location.hash.slice(1))?.scrollIntoView();
    }
  }
  if (data) {
    addEventListener("hashchange", route);
    route(null);
  }
})();
