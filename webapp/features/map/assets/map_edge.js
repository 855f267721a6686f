// The edge between the map and its list. It is dragged, or moved in steps by arrow keys and buttons; the browser keeps
// the size of the list, beside the map as a width and below it as a height.
const STEP = 40, LEAST = 288, MAP_LEAST = 460;
const SIDES = {
  beside: { property: "--list-width", usual: 400, orientation: "vertical", room: (body) => body.clientWidth - (body.querySelector(".st-key-map_filters")?.offsetWidth ?? 0) - MAP_LEAST, at: (event) => event.clientX, less: "ArrowRight", more: "ArrowLeft" },
  below: { property: "--list-height", usual: 420, orientation: "horizontal", room: () => 2 * innerHeight, at: (event) => event.clientY, less: "ArrowDown", more: "ArrowUp" },
};

function button(root, label, name, press) {
  const made = make("button", name, "", { type: "button", title: label, "aria-label": label });
  made.onclick = press;
  root.append(made);
}

export default function ({ parentElement }) {
  const root = parentElement.querySelector(".map_edge");
  const bar = make("div", "bar", "", { tabindex: "0", role: "separator", "aria-label": "Size of the list" });
  const body = parentElement.getRootNode().host.closest(".st-key-map_body");
  root.replaceChildren(bar);
  let from = null;

  const side = () => SIDES[matchMedia("(max-width: 47.99rem)").matches ? "below" : "beside"];
  const most = () => Math.max(LEAST, side().room(body));
  const size = () => Math.min(Number(kept(`themescope-map${side().property}`)) || side().usual, most());

  function resize(wanted, keeping = true) {
    const { property, orientation } = side(), now = Math.round(Math.min(Math.max(wanted, LEAST), most()));
    if (keeping) keep(`themescope-map${property}`, String(now));
    body.style.setProperty(property, `${now}px`);
    root.dataset.orientation = orientation;
    bar.setAttribute("aria-orientation", orientation);
    bar.setAttribute("aria-valuemin", String(LEAST));
    bar.setAttribute("aria-valuemax", String(most()));
    bar.setAttribute("aria-valuenow", String(now));
    bar.setAttribute("aria-valuetext", `${now} pixels`);
  }

  button(root, "Larger list", "larger", () => resize(size() + STEP));
  button(root, "Smaller list", "smaller", () => resize(size() - STEP));
  bar.onpointerdown = (event) => {
    if (event.button !== 0) return;
    bar.setPointerCapture(event.pointerId);
    from = { at: side().at(event), size: size() };
  };
  bar.onpointermove = (event) => from && resize(from.size + from.at - side().at(event));
  bar.onpointerup = bar.onpointercancel = () => (from = null);
  bar.ondblclick = () => resize(side().usual);
  bar.onkeydown = (event) => {
    const { less, more } = side();
    const steps = { [less]: size() - STEP, [more]: size() + STEP, Home: LEAST, End: most(), Enter: side().usual };
    if (!(event.key in steps)) return;
    event.preventDefault();
    event.stopPropagation();
    resize(steps[event.key]);
  };
  const fit = () => resize(size(), false);
  window.addEventListener("resize", fit);
  fit();
  return () => window.removeEventListener("resize", fit);
}
