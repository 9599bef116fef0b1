// What a call came to: an answer, a refusal by its code, or nothing at all.
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";

export type Reply<T> =
  | { readonly kind: "answer"; readonly answer: T }
  | { readonly kind: "refusal"; readonly code: string }
  /** The object was lost, or failed: the caller does not know whether it was done. */
  | { readonly kind: "broken" };

export const BROKEN = "broken off";

export async function replyOf<T>(call: Promise<T>): Promise<Reply<T>> {
  try {
    return { kind: "answer", answer: await call };
  } catch (error) {
    // A mistake of the test itself.
    if (error instanceof TypeError) throw error;
    if (!(error instanceof HoldfastError) || error.code === "Defect") return { kind: "broken" };
    return { kind: "refusal", code: error.code };
  }
}

/** In a word. */
export function said<T>(reply: Reply<T>, render: (answer: T) => string): string {
  switch (reply.kind) {
    case "answer":
      return render(reply.answer);
    case "refusal":
      return reply.code;
    case "broken":
      return BROKEN;
  }
}
