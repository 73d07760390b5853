// A long list, matched in pieces with progress; a file that is dropped on the form.
// The server reads the list and draws every row: this only sends, waits and adds up.
"use strict";
(() => {
  const form = document.querySelector("#liste");
  const number = new Intl.NumberFormat(document.documentElement.lang);
  const $ = (selector, within = document) => within.querySelector(selector);

  const send = async (fields) => {
    const answer = await fetch(form.action, {
      method: "POST", body: fields, headers: { Accept: "text/html" } });
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  const say = (alert) => {
    $(".alert")?.remove();
    if (alert) form.before(alert);
    $(".alert")?.scrollIntoView({ block: "nearest" });
  };

  const forget = () => {
    for (const old of document.querySelectorAll("#compris, #verdicts, .alert")) old.remove();
  };

  // One row more, on the last page of its verdict or on a new one.
  const addRow = (row, page, pages) => {
    const most = Number($("#choix").dataset.rows);
    const first = pages.querySelectorAll("tbody tr").length + 1;
    if (first % most === 1) {
      const next = page.cloneNode(true);
      next.open = false;
      $("tbody", next).replaceChildren();
      pages.append(next);
    }
    const last = pages.lastElementChild;
    $("tbody", last).append(row);
    const from = first - (first - 1) % most;
    $("summary b", last).textContent = `${from}–${first}`;
  };

  // The rows, the counts and the file of one more piece, added to those of the pieces before.
  const add = (found, parts) => {
    const rows = found.querySelectorAll("#verdicts tbody tr").length;
    const link = $("#telecharger", found);
    parts.push(Uint8Array.from(atob(link.href.split(",")[1]), (byte) => byte.charCodeAt(0)));
    if ($("#verdicts")) {
      for (const page of found.querySelectorAll(".page")) {
        const pages = $(`.pages[data-verdict=${page.parentElement.dataset.verdict}]`);
        for (const row of [...$("tbody", page).children]) addRow(row, page, pages);
      }
      for (const one of found.querySelectorAll("#bilan [data-verdict]")) {
        const count = $(`#bilan [data-verdict=${one.dataset.verdict}] b`);
        count.textContent = Number(count.textContent) + Number($("b", one).textContent);
      }
    } else {
      $("#compris").after($("#verdicts", found));
      review();
    }
    $("#telecharger").href = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
    return rows;
  };

  // A verdict that is chosen shows its first page; the companies of thousands of lines are sent as one field.
  const review = () => {
    $("#bilan").addEventListener("change", (event) => {
      const first = $(`.pages[data-verdict=${event.target.value}] .page`);
      if (first) first.open = true;
    });
    $("#choix").addEventListener("formdata", ({ formData }) => {
      const lines = [...formData.keys()].filter((name) => name.startsWith("choix_"));
      const chosen = lines.map((name) => formData.get(name)).filter(Boolean);
      for (const name of lines) formData.delete(name);
      formData.set("ids", [...new Set(chosen)].join(","));
    });
  };

  const match = async () => {
    const parts = [];
    const columns = [...document.querySelectorAll("#compris select")].map((one) => [one.name, one.value]);
    let done = 0;
    const progress = $("#avancement");
    progress.hidden = false;
    $("#commencer").parentElement.remove();
    for (const piece of document.querySelectorAll(".morceau")) {
      const fields = new FormData();
      fields.set("jeton", $("[name=jeton]", form).value);
      fields.set("pays", $("#pays").value);
      fields.set("texte", piece.value);
      fields.set("separateur", ";");
      fields.set("debut", done + 1);
      fields.set("colonnes", 1);
      for (const [name, value] of columns) fields.set(name, value);
      const found = await send(fields);
      if (!$("#verdicts", found)) return say($(".alert, main h1", found)); // a limit is reached, say
      done += add(found, parts);
      $("progress", progress).value = done;
      $("span", progress).textContent = number.format(done);
    }
  };

  const read = async (button) => {
    const fields = new FormData(form, button);
    fields.set("sortie", "lecture");
    forget();
    const found = await send(fields);
    const [alert, understood] = [$(".alert", found), $("#compris", found)];
    if (alert || !understood) say(alert ?? $("main h1", found));
    if (!understood) return;
    form.after(understood);
    if (alert) return;
    const begin = $("#commencer");
    if (begin?.hasAttribute("data-tout")) return match();
    begin?.addEventListener("click", () => busy(match));
    $("#compris").scrollIntoView({ block: "nearest" });
  };

  const busy = async (work) => {
    const button = $("[value=page]", form);
    button.disabled = true;
    try {
      await work();
    } catch {
      say(Object.assign(document.createElement("p"), {
        className: "alert", role: "alert", textContent: form.dataset.fault }));
    } finally {
      button.disabled = false;
    }
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(() => read(event.submitter));
  });
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("over");
  });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    form.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    $("#fichier").files = event.dataTransfer.files;
  });
  if ($("#verdicts")) review();
  $("[value=csv]", form).hidden = true; // the file comes with the verdicts, at no further call
  for (const one of document.querySelectorAll(".scripted")) one.hidden = false;
})();
