// The save status with undo and redo alone, beside what the menu of a coding opens in place of a surface.
class Bar extends CodingView {
  constructor(root) {
    super(root);
    root.append(this.bar, this.notice);
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const whole = received(data, setStateValue);
  if (whole) viewOf(parentElement, "coding_bar", Bar).show(whole, setStateValue);
}
