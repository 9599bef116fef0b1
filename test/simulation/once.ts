// What callers know of something that takes one value for good: a key its command, an operation its decision. Pure. Several may ask at once,
// and a call that broke off may have been carried out: what is impossible is found out, what is possible is not complained of.
export class Once {
  readonly what: string;
  #taken: string | null = null;
  /** Calls that are on their way, or that broke off. */
  readonly #open = new Map<string, number>();

  constructor(what: string) {
    this.what = what;
  }

  get taken(): string | null {
    return this.#taken;
  }

  /** Values that it may have taken: one, where it is known. */
  get possible(): string[] {
    return this.#taken === null ? [...this.#open.keys()] : [this.#taken];
  }

  /** Before each call. A call that breaks off stays open. */
  begin(value: string): void {
    this.#open.set(value, (this.#open.get(value) ?? 0) + 1);
  }

  /** It was taken now, for the first time. */
  applied(value: string): void {
    if (this.#taken !== null) this.#complain(`took ${value} after ${this.#taken}`);
    this.#taken = value;
    this.#close(value);
  }

  /** It had taken the same before. */
  replayed(value: string): void {
    this.#close(value);
    const isPossible = this.#taken === null ? this.#open.has(value) : this.#taken === value;
    if (!isPossible) this.#complain(`says that it took ${value} before, not ${this.#taken}`);
    this.#taken = value;
  }

  /** It had taken another before. */
  conflicted(value: string): void {
    this.#close(value);
    const isPossible =
      this.#taken === null
        ? [...this.#open.keys()].some((other) => other !== value)
        : this.#taken !== value;
    if (!isPossible) this.#complain(`says that it took another than ${value}`);
  }

  /** Nothing was taken by this call. */
  refused(value: string): void {
    this.#close(value);
  }

  #close(value: string): void {
    const left = (this.#open.get(value) ?? 0) - 1;
    if (left > 0) this.#open.set(value, left);
    else this.#open.delete(value);
  }

  #complain(found: string): never {
    throw new Error(`${this.what} ${found}`);
  }
}
