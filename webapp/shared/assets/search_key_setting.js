// Switch of all shortcuts of a single key, which this browser keeps.
const OFF = "themescope-single-keys-off";

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".search_key_setting");
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  try {
    box.checked = localStorage.getItem(OFF) !== "1";
  } catch {
    box.checked = true; // the browser keeps nothing, so shortcuts are on
  }
  box.onchange = () => {
    try {
      if (box.checked) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, "1");
    } catch {
      box.checked = true;
    }
  };
  label.append(box, data.label);
  root.replaceChildren(label);
}
