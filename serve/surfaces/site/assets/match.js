// Matches a list in pieces, with progress, and takes a file that is dropped on the form.
// The server reads and stores the list; the script sends the pieces, waits, and opens the page of the list.
"use strict";
(() => {
  const form = document.querySelector("#liste");
  const number = new Intl.NumberFormat(document.documentElement.lang);
  const $ = (selector, within = document) => within.querySelector(selector);

  const send = async (fields) => {
    const answer = await fetch(form.action, {
      method: "POST", body: fields, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return { page, list: answer.redirected && answer.ok ? new URL(answer.url).pathname : "" };
  };

  const say = (alert) => {
    $(".alert")?.remove();
    if (alert) form.before(alert);
    $(".alert")?.scrollIntoView({ block: "nearest" });
  };

  const warn = (text) => say(Object.assign(document.createElement("p"), {
    className: "alert", role: "alert", textContent: text }));

  const forget = () => {
    for (const old of document.querySelectorAll("#compris, .alert, .partial")) old.remove();
  };

  // Link to the list with the lines that were matched before a limit was reached.
  const offer = (list) => {
    const link = Object.assign(document.createElement("a"), {
      href: list, textContent: form.dataset.partial });
    const line = Object.assign(document.createElement("p"), { className: "partial" });
    line.append(link);
    form.before(line);
  };

  const match = async () => {
    const columns = [...document.querySelectorAll("#compris select")].map((select) => [select.name, select.value]);
    const file = $("#fichier").files[0]?.name ?? "";
    let [done, list] = [0, ""];
    const progress = $("#avancement");
    progress.hidden = false;
    $("#commencer").parentElement.remove();
    try {
      for (const piece of document.querySelectorAll(".morceau")) {
        const fields = new FormData();
        fields.set("jeton", $("[name=jeton]", form).value);
        fields.set("pays", $("#pays").value);
        fields.set("fichier", file);
        fields.set("texte", piece.value);
        fields.set("separateur", ";");
        fields.set("debut", done + 1);
        fields.set("liste", list.split("/").pop());
        fields.set("colonnes", 1);
        for (const [name, value] of columns) fields.set(name, value);
        const found = await send(fields);
        if (!found.list) {
          if ($("#choix", found.page)) return document.body.replaceWith(found.page.body); // no list was stored
          say($(".alert, main h1", found.page)); // for example, a limit is reached
          if (list) offer(list);
          return;
        }
        list = found.list;
        done += Number(piece.dataset.rows);
        $("progress", progress).value = done;
        $("span", progress).textContent = number.format(done);
      }
      location.assign(list);
    } catch (error) {
      if (list) offer(list);
      throw error;
    }
  };

  const read = async (button) => {
    const fields = new FormData(form, button);
    fields.set("sortie", "lecture");
    forget();
    if ($("#fichier").files[0]?.size > Number(form.dataset.most)) return warn(form.dataset.large);
    const { page } = await send(fields);
    const [alert, understood] = [$(".alert", page), $("#compris", page)];
    if (alert || !understood) say(alert ?? $("main h1", page));
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
      warn(form.dataset.fault);
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
  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
})();
