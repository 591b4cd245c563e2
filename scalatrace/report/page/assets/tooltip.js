// One tooltip for all drawings; screen readers hear it.
const tooltip = document.getElementById("tooltip");

function showTip(text, x, y) {
  tooltip.textContent = text;
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tooltip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 8))}px`;
}

function hideTip() {
  tooltip.hidden = true;
}

// Show a text while the pointer is on an element or it has the focus.
function tip(element, text) {
  element.addEventListener("mousemove", (event) => showTip(text, event.clientX, event.clientY));
  element.addEventListener("mouseleave", hideTip);
  element.addEventListener("focus", () => {
    const box = element.getBoundingClientRect();
    showTip(text, box.left, box.bottom);
  });
  element.addEventListener("blur", hideTip);
  return element;
}
