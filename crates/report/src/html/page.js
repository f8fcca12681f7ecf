"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const charts = [...document.querySelectorAll(".chart")];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const narrow = () => innerWidth < 640;
  const layout = (given) => {
    const [ink, line] = [colour("--ink"), colour("--line")];
    const axis = { gridcolor: line, zerolinecolor: line, linecolor: line };
    const made = { ...given, autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
    made.font = { color: ink, family: "system-ui, sans-serif", size: narrow() ? 10 : 12 };
    made.margin = { l: narrow() ? 40 : 60, r: 12, t: 8, b: 48 };
    made.legend = { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", ...given.legend };
    made.modebar = { bgcolor: "rgba(0,0,0,0)", color: line, activecolor: ink };
    made.hoverlabel = { font: { size: 12 } };
    made.xaxis = { ...axis, ...given.xaxis, automargin: true };
    made.yaxis = { ...axis, ...given.yaxis, automargin: true };
    return made;
  };
  const image = (format) => ({
    name: `save as ${format.toUpperCase()}`,
    icon: Plotly.Icons.camera,
    click: (chart) => Plotly.downloadImage(chart, { format, filename: "faultline", width: 1200, height: chart.offsetHeight }),
  });
  const config = { responsive: true, displaylogo: false, scrollZoom: false, modeBarButtonsToRemove: ["toImage", "lasso2d", "select2d"], modeBarButtonsToAdd: [image("svg"), image("png")] };
  const draw = (chart) => {
    const figure = figures[Number(chart.dataset.figure)];
    return Plotly.react(chart, figure.traces, layout(figure.layout), config);
  };
  // One chart at a time, the one nearest to what is looked at first, so that the words can be read meanwhile.
  const mark = document.documentElement.dataset;
  const distance = (chart) => {
    const { top, bottom } = chart.getBoundingClientRect();
    return Math.max(top - innerHeight, -bottom, 0);
  };
  const rest = new Set(charts);
  const step = () => {
    const [next] = [...rest].sort((a, b) => distance(a) - distance(b));
    if (!next || distance(next) > 0) mark.ready = String(charts.length - rest.size);
    if (!next) { mark.drawn = String(charts.length); return; }
    rest.delete(next);
    draw(next);
    setTimeout(step, 0);
  };
  step();
  dark.addEventListener("change", () => charts.forEach(draw));
})();
