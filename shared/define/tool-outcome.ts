// What a handler may say of its own call beside a result and a failure. Each is known by its class, never by its shape: a look-alike is a
// failure like any other error.

/**
 * Throw it where a request left, its answer was lost, and nothing tells what became of it. A call of an `external` tool then becomes an
 * unknown outcome that a person decides (TOOL-04); of other tools it is a failure, as a repeat is safe. Only the model of a failed call reads
 * the message.
 */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
  // oxlint-disable-next-line no-unused-private-class-members -- read by `in` below, which the rule does not see
  readonly #made = true;

  /** Asks the class's own mark, which no value has that it did not make; a proxy's traps are not asked. */
  static isInstance(value: unknown): value is OutcomeUnknown {
    return typeof value === "object" && value !== null && #made in value;
  }
}

/** Throw it where what a tool stands for is gone and nothing was done: the model reads the message, with the outcome `unavailable`. */
export class ToolUnavailable extends Error {
  override readonly name = "ToolUnavailable";
  // oxlint-disable-next-line no-unused-private-class-members -- read by `in` below, which the rule does not see
  readonly #made = true;

  /** As `OutcomeUnknown.isInstance`. */
  static isInstance(value: unknown): value is ToolUnavailable {
    return typeof value === "object" && value !== null && #made in value;
  }
}
