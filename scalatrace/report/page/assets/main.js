// Draw all sections of all traces.
function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.querySelectorAll("section").forEach((section) => {
    section.querySelectorAll(".pane").forEach((pane) => { pane.trace = data.traces[Number(pane.dataset.trace)]; });
  });
  const within = (index, name) => document.querySelectorAll(`.pane[data-trace="${index}"] .${name}`);
  data.traces.forEach((trace, index) => {
    trace.page = data.traces; // charts of all of them have common axes
    for (const site of trace.tree.sites) site.frames = site.frames.map((number) => trace.tree.frames[number]);
    trace.category = new Map();
    walkTree(trace.tree.root, (node) => { if (node.op) trace.category.set(node.op, node.category); });
    let tree = null;
    const goto = (node) => {
      document.getElementById("program").scrollIntoView();
      tree.show(node);
    };
    const draw = (name, make) => within(index, name).forEach((place) => make(place, trace));
    draw("tree-view", (place) => { tree = new TreeView(place, trace); });
    draw("share-view", shareView);
    draw("flame-view", (place) => new FlameView(place, trace, goto));
    draw("pattern-view", (place) => patternCards(place, trace, goto));
    draw("timeline-view", (place) => new TimeLineView(place, trace));
    draw("matrix-view", (place) => new MatrixView(place, trace));
    draw("grid-view", gridView);
    draw("rank-view", rankView);
    draw("cause-view", causeView);
    draw("size-view", sizeView);
    draw("delta-view", deltaView);
    draw("fit-view", fitView);
    draw("predicted-view", predictedView);
    draw("path-view", pathView);
    draw("sensitivity-view", sensitivityView);
    within(index, "goto").forEach((button) => button.addEventListener("click", () => goto(Number(button.dataset.node))));
  });
  document.querySelectorAll("#differences .rank-view").forEach((place) => rankDifferences(place, data.traces));
  ready();
}

start();
