// Numbered pins on the first results of a search, in the order of the list beside the map.
const PINS = {
  paintPins() {
    const pins = this.data.pins ?? [], key = JSON.stringify(pins);
    if (key !== this.pinned) {
      this.pinned = key;
      this.pins.replaceChildren();
      pins.forEach(([, , place, text], i) => {
        const about = { title: text, "aria-label": `Result ${i + 1}: ${text}` };
        const pin = pressed(this.pins, "pin", () => this.openPlace(place), i + 1, about);
        pin.onpointerdown = (event) => event.stopPropagation();
      });
    }
    pins.forEach(([x, y], i) => {
      const [left, top] = this.screen([x, y]), pin = this.pins.children[i];
      pin.hidden = left < 0 || top < 0 || left > this.width || top > this.height;
      pin.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    });
  },
};
