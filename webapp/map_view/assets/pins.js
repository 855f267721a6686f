// Numbered pins on the first results of a search, in the order of the list beside the map.
const PINS = {
  paintPins() {
    const pins = this.data.pins ?? [], key = JSON.stringify(pins);
    if (key !== this.pinned) {
      this.pinned = key;
      this.pins.replaceChildren();
      pins.forEach(([x, y, place, text], i) => this.pin(i + 1, place, text));
    }
    pins.forEach(([x, y], i) => {
      const [left, top] = this.screen([x, y]), pin = this.pins.children[i];
      pin.hidden = left < 0 || top < 0 || left > this.width || top > this.height;
      pin.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    });
  },

  pin(order, place, text) {
    const about = { title: text, "aria-label": `Result ${order}: ${text}` };
    pressed(this.pins, "pin", () => this.openPlace(place), order, about).onpointerdown = (event) => event.stopPropagation();
  },
};
