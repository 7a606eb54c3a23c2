"use strict";
const list = document.querySelector("main");
// The gate's clock decides, not this machine's.
const ahead = Number(list.dataset.now) - Date.now();
function tick() {
  for (const time of document.querySelectorAll("time[data-until]")) {
    const left = Math.ceil((Number(time.dataset.until) - Date.now() - ahead) / 1000);
    time.textContent = left > 0 ? `${left} s` : "none";
    if (left <= 0) {
      for (const button of time.closest("article").querySelectorAll("button")) button.disabled = true;
    }
  }
}
async function look() {
  try {
    const answer = await fetch(`${location.pathname}/seen`, { cache: "no-store", redirect: "error" });
    if (!answer.ok) return;
    const { seen, waiting } = await answer.json();
    if (seen === list.dataset.seen) return;
    list.dataset.seen = seen;
    document.title = (waiting ? `(${waiting}) ` : "") + "Approvals · mcp-protector";
    const link = document.createElement("a");
    link.href = location.pathname;
    link.textContent = waiting ? `What waits has changed: ${waiting} now. Show it.` : "Nothing waits any more. Show it.";
    document.getElementById("news").replaceChildren(link);
  } catch { /* The gate has gone; the next look tells when it is back. */ }
}
tick();
setInterval(tick, 1000);
setInterval(look, 2000);
