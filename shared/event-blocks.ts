// Cuts a byte stream of server-sent events into its blocks, each with the empty line that ends it.

export class BlockReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #buffered = "";
  /** Up to where the buffer was looked through. */
  #searched = 0;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  /** The next whole block; null after the last. What broke off before its empty line is dropped, as every reader of such a stream does.
   * Rejects when the stream broke off. */
  async next(): Promise<string | null> {
    for (;;) {
      const end = this.#buffered.indexOf("\n\n", this.#searched);
      if (end >= 0) {
        const block = this.#buffered.slice(0, end + 2);
        this.#buffered = this.#buffered.slice(end + 2);
        this.#searched = 0;
        return block;
      }
      // The first of the two line breaks may be here already.
      this.#searched = Math.max(0, this.#buffered.length - 1);
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#buffered += this.#decoder.decode(value, { stream: true });
    }
  }

  /** Lets the source go. Never rejects: a stream that broke is let go already. */
  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => undefined);
  }
}
