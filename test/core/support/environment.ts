// An environment of tests in Node, which has what it is given.
import { z } from "zod";
import type { Environment } from "../../../shared/define/environment.ts";

/** An environment that has these variables and bindings alone. */
export function environment(variables: Readonly<Record<string, unknown>> = {}): Environment {
  return z.custom<Environment>().parse(variables);
}
