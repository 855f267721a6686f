// Switch of all shortcuts of a single key, which this browser keeps; they are on where it keeps nothing.
export default function ({ data, parentElement }) {
  const label = make("label"), box = make("input", "", "", { type: "checkbox" });
  box.checked = kept(OFF) !== "1";
  box.onchange = () => {
    if (!keep(OFF, box.checked ? "" : "1")) box.checked = true;
  };
  label.append(box, data.label);
  parentElement.querySelector(".search_key_setting").replaceChildren(label);
}
