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

  // The rows, the counts and the file of one more piece, added to those of the pieces before.
  const add = (found, parts) => {
    const rows = $("#verdicts tbody", found).children.length;
    const link = $("#telecharger", found);
    parts.push(Uint8Array.from(atob(link.href.split(",")[1]), (byte) => byte.charCodeAt(0)));
    const shown = $("#verdicts");
    if (shown) {
      $("tbody", shown).append(...$("#verdicts tbody", found).children);
      for (const one of found.querySelectorAll("#bilan li")) {
        const count = $(`#bilan [data-verdict=${one.dataset.verdict}] b`);
        count.textContent = Number(count.textContent) + Number($("b", one).textContent);
      }
    } else {
      $("#compris").after($("#verdicts", found));
    }
    $("#telecharger").href = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
    return rows;
  };

  const match = async () => {
    const parts = [];
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
      const found = await send(fields);
      if (!$("#verdicts", found)) return say($(".alert, main h1", found)); // a limit is reached, say
      done += add(found, parts);
      $("progress", progress).value = done;
      $("span", progress).textContent = number.format(done);
    }
  };

  const read = async () => {
    const fields = new FormData(form);
    fields.set("sortie", "lecture");
    forget();
    const found = await send(fields);
    if (!$("#compris", found)) return say($(".alert, main h1", found));
    form.after($("#compris", found));
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
    busy(read);
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
  $("[value=csv]", form).hidden = true; // the file comes with the verdicts, at no further call
  for (const one of document.querySelectorAll(".scripted")) one.hidden = false;
})();
