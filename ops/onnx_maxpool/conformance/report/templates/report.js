const form = document.getElementById("filters");
const only = document.querySelector(".only input");
const items = [...document.querySelectorAll(".item")];

// One rule for all: an item is shown where everything that is chosen holds for it.
function apply() {
  const chosen = Object.fromEntries(new FormData(form));
  const text = chosen.text.trim().toLowerCase();
  for (const item of items) {
    const data = item.dataset;
    // A case has results of several backends; a line is of one.
    const results = data.results === undefined ? [[data.backend, data.outcome]]
      : data.results.split("|").filter(Boolean).map((result) => [result.slice(0, result.lastIndexOf("=")), result.split("=").pop()]);
    const asked = results.some(([backend, outcome]) =>
      (!chosen.backend || backend === chosen.backend) && (!chosen.outcome || outcome === chosen.outcome));
    item.hidden = !asked || Boolean(chosen.operator && data.operator !== chosen.operator)
      || Boolean(chosen.rule && !(data.rule || "").split(" ").includes(chosen.rule))
      || Boolean(text && !item.textContent.toLowerCase().includes(text));
  }
  // What passes everywhere is shown where passes are asked for.
  if (chosen.outcome === "pass") only.checked = false;
  document.getElementById("none").hidden = items.some((item) => item.matches("#cases .case") && !item.hidden);
}

// A link to a case opens it, and shows it if it is filtered out.
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || target.tagName !== "DETAILS") return;
  if (target.hidden) { form.reset(); apply(); }
  if (target.classList.contains("settled")) only.checked = false;
  target.open = true;
  target.scrollIntoView();
}

form.addEventListener("input", apply);
form.addEventListener("reset", () => setTimeout(apply));
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", reveal);
reveal();
