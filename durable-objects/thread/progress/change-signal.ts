// Tells the readers in this instance that there is something new to read: after a commit, and when the open turn got more text. It carries
// nothing; what is new is read from storage and from the live run.

export class ChangeSignal {
  #version = 0;
  #commits = 0;
  readonly #waiting = new Set<() => void>();

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** Grows with every commit: what was derived from storage before may be stale. */
  get commits(): number {
    return this.#commits;
  }

  committed(): void {
    this.#commits += 1;
    this.raise();
  }

  raise(): void {
    this.#version += 1;
    if (this.#waiting.size === 0) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Resolves at the first change after `version`, at once when it is past already. Every waiter is woken by every change; one that does not
   * wait any more leaves, so that nothing of it is kept. */
  after(version: number): { readonly changed: Promise<void>; readonly leave: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#version === version) this.#waiting.add(resolve);
    else resolve();
    const leave = (): void => {
      this.#waiting.delete(resolve);
      resolve();
    };
    return { changed: promise, leave };
  }
}
