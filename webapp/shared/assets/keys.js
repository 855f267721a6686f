function isTyping(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof Element)) return false;
  const withoutText = ["checkbox", "radio", "range", "button", "file", "submit"];
  const isInput = target.matches("input") && !withoutText.includes(target.type);
  return target.isContentEditable || target.matches("textarea, select") || isInput;
}

// Digits count on keyboards that type them with Shift, and letters on keyboards of other scripts. A key of the number
// pad that types nothing, such as End, is itself.
function keyOf(event) {
  const { code, key } = event, physical = /^(?:Digit|Numpad|Key)([0-9A-Z])$/.exec(code);
  if (/^[0-9?]$/.test(key)) return key;
  if (event.shiftKey) return "";
  return physical && key.length === 1 && !/[a-z]/i.test(key) ? physical[1].toLowerCase() : key.toLowerCase();
}
