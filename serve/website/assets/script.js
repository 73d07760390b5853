// What makes the pages quicker, and nothing that they need: searches in place, sub-sectors that follow
// the sectors, figures that come after the rows, a field to find a sector, buttons that copy.
"use strict";
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const number = new Intl.NumberFormat(document.documentElement.lang);
  const english = document.documentElement.lang === "en";
  const LISTS = { pays: ",", secteur: "|", sous_secteur: "|", etat: "," };
  let asking = null;

  const page = async (url, signal) => {
    const answer = await fetch(url, { signal, headers: { Accept: "text/html" } });
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  // -- searches in place --

  // The parameters of the form that say something, lists as one value: a short address.
  const address = (form) => {
    const values = new Map();
    for (const [name, value] of new FormData(form)) {
      const text = value.trim();
      if (text) values.set(name, values.has(name) ? values.get(name) + LISTS[name] + text : text);
    }
    if (!values.has("secteur")) values.delete("sous_secteur");
    return "/?" + new URLSearchParams([...values]);
  };

  const search = async (url, remember) => {
    asking?.abort();
    asking = new AbortController();
    const results = $("#resultats");
    results.classList.add("busy");
    try {
      const found = await page(url, asking.signal);
      if (!$("#resultats", found)) return void location.assign(url); // a limit is reached, say
      if (remember) history.pushState(null, "", url);
      document.title = found.title;
      $(".hero")?.remove();
      const hero = $(".hero", found);
      if (hero) $("#contenu").prepend(hero);
      for (const part of [".searchbar", "#filtres", "#resultats", ".who"])
        $(part).replaceWith($(part, found));
      enliven();
      $("#total")?.focus({ preventScroll: true });
      if (remember) $("#recherche").scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (error.name !== "AbortError") location.assign(url);
    }
  };

  document.addEventListener("submit", (event) => {
    if (event.target.id !== "recherche") return;
    event.preventDefault();
    search(address(event.target), true);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-live]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    if (!$("#resultats")) return;
    event.preventDefault();
    search(link.getAttribute("href"), true);
  });
  addEventListener("popstate", () => $("#resultats") && search(location.href, false));

  // -- the pickers: counts of sectors follow the countries, sub-sectors follow the sectors --

  const chosen = (name) => all(`input[name=${name}]:checked`).map((box) => box.value);
  const scope = () => {
    const pairs = [["pays", chosen("pays").join(",")], ["secteur", chosen("secteur").join("|")]];
    return new URLSearchParams(pairs.filter(([, value]) => value));
  };

  const row = (value, label, count, checked) => {
    const box = Object.assign(document.createElement("input"), {
      type: "checkbox", name: "sous_secteur", value, checked });
    const name = Object.assign(document.createElement("span"), { textContent: label, lang: "fr" });
    const total = Object.assign(document.createElement("b"), { textContent: number.format(count) });
    const item = document.createElement("li");
    const around = document.createElement("label");
    around.append(box, " ", name, " ", total);
    item.append(around);
    return item;
  };

  const follow = async (event) => {
    const list = event.target.closest("[data-list]")?.dataset.list;
    if (list === "pays") {
      const { secteurs } = await (await fetch(`/api/v1/secteurs?pays=${chosen("pays")}`)).json();
      const counts = new Map(secteurs.map((one) => [one.slug, one.n_societes]));
      for (const box of all("input[name=secteur]")) {
        $("b", box.parentElement).textContent = number.format(counts.get(box.value));
        box.closest("li").classList.toggle("zero", !counts.get(box.value));
      }
    }
    if (list !== "pays" && list !== "secteur") return;
    const picker = $("[data-list=sous_secteur]");
    const kept = new Set(chosen("sous_secteur"));
    const url = `/api/v1/sous-secteurs?${scope()}`;
    const found = chosen("secteur").length ? (await (await fetch(url)).json()).sous_secteurs : [];
    found.sort((one, other) => other.n_societes - one.n_societes);
    $("ul", picker).replaceChildren(...found.map((one) =>
      row(one.sous_secteur, one.sous_secteur, one.n_societes, kept.has(one.sous_secteur))));
    picker.hidden = !found.length;
  };

  const findable = (picker) => {
    const field = Object.assign(document.createElement("input"), {
      className: "find", type: "search", placeholder: english ? "Find…" : "Trouver…" });
    field.setAttribute("aria-label", `${english ? "Find" : "Trouver"} : ${$("legend", picker).textContent}`);
    const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    field.addEventListener("input", () => {
      for (const item of all("li", picker))
        item.hidden = !fold(item.textContent).includes(fold(field.value));
    });
    field.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
    $("ul", picker).before(field);
  };

  // -- what has to be done again when a part was replaced --

  const enliven = () => {
    for (const button of all(".copy")) button.hidden = false;
    $("#filtres")?.addEventListener("change", follow);
    for (const picker of all("#filtres [data-list=secteur]")) findable(picker);
    for (const place of all("[data-figures]")) figures(place);
  };

  const figures = async (place) => {
    const found = $("#chiffres", await page(place.dataset.figures));
    if (found && place.isConnected) place.replaceWith(found);
  };

  document.addEventListener("click", async (event) => {
    const fold = event.target.closest("[data-fold]");
    if (fold) {
      event.preventDefault();
      $("#filtres").classList.toggle("open");
    }
    const button = event.target.closest(".copy");
    if (!button) return;
    const text = $("code", button.parentElement);
    try {
      await navigator.clipboard.writeText(text.textContent);
      const label = button.textContent;
      button.textContent = button.dataset.done;
      setTimeout(() => { button.textContent = label; }, 2000);
    } catch {
      getSelection().selectAllChildren(text); // without https there is no clipboard
    }
  });

  enliven();
})();
