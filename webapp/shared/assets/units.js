// A list of units to read and to pick from.
export default function ({ data, parentElement, setTriggerValue }) {
  viewOf(parentElement, "units", UnitList).show(data, setTriggerValue);
}
