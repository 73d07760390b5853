// The pages work without this script. It adds searches without a reload, proposals while typing, counts of filters that
// follow the chosen options, figures that load after the rows, a field to find a sector, and copy buttons.
"use strict";
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const english = document.documentElement.lang === "en";
  const LISTS = { pays: ",", secteur: "|", sous_secteur: "|", etat: "," };
  const here = () => location.pathname + location.search;
  let asking = null, shown = here();

  const page = async (url, signal) => {
    const answer = await fetch(url, { signal, headers: { Accept: "text/html" } });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    found.isGood = answer.ok;
    return found;
  };

  // -- searches in place --

  // A short address: only parameters with a value, each list as one value.
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
    results.setAttribute("aria-busy", "true");
    try {
      const found = await page(url, asking.signal);
      if (!$("#resultats", found)) return void location.assign(url); // for example, a limit is reached
      if (remember) history.pushState(null, "", url);
      shown = here();
      document.title = found.title;
      for (const part of [".searchbar", "#filtres", "#resultats", ".who"])
        $(part).replaceWith($(part, found));
      enliven();
      $("#total")?.focus({ preventScroll: true });
      if (remember) $(".searchbar").scrollIntoView({ block: "nearest" });
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
  addEventListener("popstate", () => {
    if ($("#resultats") && here() !== shown) search(location.href, false); // not for a fragment
  });

  // -- proposals while typing: a combobox of the ARIA practices, with a list below it --

  const propose = (field) => {
    const around = field.parentElement;
    let wanted = "", current = -1, timer = 0;
    for (const [name, value] of Object.entries({
      role: "combobox", "aria-expanded": "false", "aria-controls": "propositions",
      "aria-autocomplete": "list" })) field.setAttribute(name, value);
    const options = () => all("[role=option]", around);
    const close = () => {
      $("#propositions", around)?.remove();
      field.setAttribute("aria-expanded", "false");
      field.removeAttribute("aria-activedescendant");
      current = -1;
    };
    const mark = (place) => {
      options()[current]?.setAttribute("aria-selected", "false");
      current = place;
      const option = options()[current];
      if (!option) return field.removeAttribute("aria-activedescendant");
      option.setAttribute("aria-selected", "true");
      option.scrollIntoView({ block: "nearest" });
      field.setAttribute("aria-activedescendant", option.id);
    };
    const show = async () => {
      const text = field.value.trim();
      if (text === wanted) return;
      wanted = text;
      if (text.length < 2) return close();
      const pairs = [["q", text], ["pays", chosen("pays").join(",")]].filter(([, value]) => value);
      const found = await page(`${field.dataset.suggest}?${new URLSearchParams(pairs)}`);
      if (wanted !== text || document.activeElement !== field) return;
      close();
      if (!$("[role=option]", found)) return;
      around.append($("#propositions", found));
      field.setAttribute("aria-expanded", "true");
    };
    field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 120); });
    field.addEventListener("blur", close);
    field.addEventListener("keydown", (event) => {
      const count = options().length;
      if (event.key === "Escape" && count) return event.preventDefault(), close();
      if (!count) return;
      if (event.key === "Enter" && current >= 0) {
        event.preventDefault();
        return location.assign(options()[current].dataset.href);
      }
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      mark(current < 0 && step < 0 ? count - 1 : current + step >= count ? -1 : current + step);
    });
    around.addEventListener("pointerdown", (event) => {
      const option = event.target.closest("[role=option]");
      if (!option) return;
      event.preventDefault(); // the field keeps the focus
      location.assign(option.dataset.href);
    });
  };

  // -- filters: counts follow the chosen options, sub-sectors follow the sectors --

  const chosen = (name) => all(`input[name=${name}]:checked`).map((box) => box.value);

  const follow = async () => {
    const form = $("#recherche");
    const found = await page(address(form).replace("/?", "/chiffres?"));
    if (!found.isGood || !form.isConnected) return;
    recount(found);
    const button = $(".apply button");
    button.textContent = `${button.dataset.see} ${$("h1", found).textContent}`;
  };

  const recount = (found) => {
    const counts = new Map(all("#choix input[type=checkbox]", found).map((box) =>
      [`${box.name} ${box.value}`, $("b", box.parentElement).textContent]));
    for (const box of all("#filtres .picker input[type=checkbox]"))
      if (counts.has(`${box.name} ${box.value}`)) {
        const text = counts.get(`${box.name} ${box.value}`);
        $("b", box.parentElement).textContent = text;
        box.closest("li").classList.toggle("zero", text === "0");
      }
    const sections = new Map(all("#choix .options summary", found).map((summary) =>
      [$("span", summary).textContent, $("b", summary).textContent]));
    for (const summary of all("#filtres .options summary"))
      $("b", summary).textContent = sections.get($("span", summary).textContent) ?? "";
    renew("sous_secteur", found);
    if ($("#filtres[data-uncounted]")) renew("pays", found);
    delete $("#filtres").dataset.uncounted;
    for (const item of all("#filtres .none-here li:not(.zero)"))
      item.closest("details").previousElementSibling.append(item);
  };

  // Replace the options of a filter by the newly counted ones; ticks and focus stay.
  const renew = (name, found) => {
    const ticked = new Set(chosen(name));
    const fresh = $(`#choix [data-list=${name}]`, found);
    for (const box of all("input", fresh)) box.checked = ticked.has(box.value);
    const focused = document.activeElement.name === name && document.activeElement.value;
    $(`#filtres [data-list=${name}]`).replaceWith(fresh);
    if (focused) all(`#filtres [name=${name}]`).find((box) => box.value === focused)?.focus();
  };

  const findable = (picker) => {
    const field = $(".find", picker);
    const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    field.addEventListener("input", () => {
      for (const item of all("li", picker))
        item.hidden = !fold(item.textContent).includes(fold(field.value));
      for (const section of all(".options details", picker)) {
        section.hidden = !$("li:not([hidden])", section);
        section.open = Boolean(field.value.trim() || $(":checked", section));
      }
    });
    field.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
    field.hidden = false;
  };

  // -- repeated whenever a part was replaced --

  const enliven = () => {
    for (const button of all(".copy, [data-print]")) button.hidden = false;
    for (const field of all("[data-suggest]")) propose(field);
    $("#tri")?.addEventListener("change", (event) => event.target.form.requestSubmit());
    $("#filtres")?.addEventListener("change", (event) => event.target.closest(".picker") && follow());
    for (const picker of all("#filtres [data-list=secteur]")) findable(picker);
    for (const place of all("[data-figures]")) figures(place);
    if ($("#filtres[data-uncounted]") && !$("[data-figures]")) follow();
  };

  const figures = async (place) => {
    const found = await page(place.dataset.figures);
    if (!$("#chiffres", found) || !place.isConnected) return;
    place.replaceWith($("#chiffres", found));
    recount(found);
  };

  document.addEventListener("click", async (event) => {
    const fold = event.target.closest("[data-fold]");
    if (fold) {
      event.preventDefault();
      $("#filtres").classList.toggle("open");
    }
    if (event.target.closest("[data-print]")) print();
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
