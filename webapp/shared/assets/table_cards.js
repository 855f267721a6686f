// Rows of a table as cards, which phones show in place of the table.
const PHONE = matchMedia("(max-width: 640px)");

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".table_cards");

  function card([title, ...values], row) {
    const item = make("li"), box = make(data.clickable ? "button" : "div", "card");
    box.append(make("strong", "", title));
    values.forEach((value, place) => {
      if (value === "") return;
      const pair = make("span", "pair");
      pair.append(make("span", "name", data.columns[place + 1]), make("span", "", value));
      box.append(pair);
    });
    if (data.clickable) box.onclick = () => setTriggerValue("row", { row });
    item.append(box);
    return item;
  }

  function draw() {
    const list = make("ul"), left = data.total - data.rows.length;
    if (!PHONE.matches) return root.replaceChildren();
    list.append(...data.rows.map(card));
    root.replaceChildren(list, ...(left ? [make("p", "", `and ${left} more rows, which wider windows show`)] : []));
  }

  draw();
  PHONE.addEventListener("change", draw);
  return () => PHONE.removeEventListener("change", draw);
}
