"use strict";
// Make elements. Texts of the trace become text nodes, never HTML.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "style") Object.assign(element.style, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const CATEGORIES = {
  send: "send", persistent: "send", start: "send", recv: "recv", probe: "recv", sendrecv: "sendrecv",
  completion: "completion", collective: "collective", "neighbour collective": "collective",
  io: "io", file: "io",
};

function categoryColor(category) {
  return CATEGORIES[category] || "other";
}

const LEGEND = [
  ["send", "send"], ["recv", "receive, probe"], ["sendrecv", "send and receive"], ["completion", "completion (waits)"],
  ["collective", "collective"], ["io", "files"], ["other", "other"],
];

// The legend of the categories that occur; `compute`: what computation is called, `opacity`: with which it is drawn.
function legend(categories, compute, opacity = 1) {
  const used = new Set([...categories].map(categoryColor));
  const entries = [...LEGEND.filter(([name]) => used.has(name)), ["compute", compute]];
  return h("ul", { class: "legend" }, entries.map(([name, text]) =>
    h("li", {}, h("span", { class: "swatch", style: { background: `var(--${name})`, opacity: name === "compute" ? opacity : 1 } }), text)));
}

const MIN_CHART_WIDTH = 300;

// Width of a chart, in which texts keep their size: the natural one, or that of its place where this is narrower.
function chartWidth(natural, place = document.querySelector(".pane, main > section")) {
  return Math.min(natural, Math.max(MIN_CHART_WIDTH, place && place.clientWidth ? place.clientWidth : natural));
}

// A chart in a box that scrolls where the window becomes narrower.
function boxed(svg) {
  return h("div", { class: "scroll" }, svg);
}

// Give the cells of tables their heading, which narrow windows show before each.
function labelCells() {
  document.querySelectorAll(".scroll > table").forEach((table) => {
    const heads = table.tHead ? [...table.tHead.rows[0].cells].map((cell) => cell.textContent) : [];
    [...table.tBodies].flatMap((body) => [...body.rows]).forEach((row) => [...row.cells].forEach((cell, i) => {
      if (heads[i] && cell.tagName === "TD") cell.dataset.label = heads[i];
    }));
  });
}

// Functions that draw again when the theme changes.
const redraws = [];
