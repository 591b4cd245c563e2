// The button for dark and light colours, and the mark that all is drawn.
function ready() {
  labelCells();
  const redraw = () => redraws.forEach((one) => one());
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme || (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.documentElement.dataset.ready = String(Math.round(performance.now())); // ms since the page was opened
}
