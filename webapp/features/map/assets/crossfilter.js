// Filters of several columns over the same rows. Each filter has a bit, which is set for the rows that it leaves out, so
// that a change of one filter reads one column, and the counts of a column ignore its own filter.

class Crossfilter {
  /** @param {{ codes: Uint8Array | Uint16Array | Uint32Array, size: number }[]} columns `size` is the code of "no value". @param {number} total */
  constructor(columns, total) {
    this.columns = columns;
    this.failing = new Uint32Array(total);
    /** @type {(Uint8Array | null)[]} */
    this.allowed = columns.map(() => null);
    this.bits = columns.map(() => 0);
  }

  /**
   * Lets only some codes of a column through, or all of them. A row can be left out by 32 columns at most.
   * @param {number} column @param {number[] | null} codes
   */
  filter(column, codes) {
    const { failing } = this, { codes: values, size } = this.columns[column];
    const used = this.bits.reduce((all, bit) => all | bit, 0), bit = this.bits[column] || ~used & -~used;
    if (!bit) return false;
    const allowed = codes && new Uint8Array(size + 1);
    for (const code of codes ?? []) /** @type {Uint8Array} */ (allowed)[code] = 1;
    if (allowed) for (let row = 0; row < failing.length; row++) failing[row] = allowed[values[row]] ? failing[row] & ~bit : failing[row] | bit;
    else if (this.bits[column]) for (let row = 0; row < failing.length; row++) failing[row] &= ~bit;
    [this.allowed[column], this.bits[column]] = [allowed, allowed ? bit : 0];
    return true;
  }

  get active() {
    return this.bits.some(Boolean);
  }

  /** Number of rows that all filters let through. */
  passing() {
    const { failing } = this;
    let count = 0;
    for (let row = 0; row < failing.length; row++) if (!failing[row]) count++;
    return count;
  }

  /** Number of rows of each code that the filters of the other columns let through, "no value" last. @param {number} column */
  counts(column) {
    const { failing } = this, { codes, size } = this.columns[column], others = ~this.bits[column], counts = new Uint32Array(size + 1);
    for (let row = 0; row < failing.length; row++) if (!(failing[row] & others)) counts[codes[row]]++;
    return counts;
  }
}
