// Switch of the key "/", which this browser keeps.
const OFF = "themescope-search-key-off";

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".search_key_setting");
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  try {
    box.checked = localStorage.getItem(OFF) !== "1";
  } catch {
    box.checked = true; // the browser keeps nothing, so the key is on
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
