// An environment of tests in Node, where there are no bindings.
import { z } from "zod";
import type { Environment } from "../../../shared/define/environment.ts";

/** An environment that has these variables alone. */
export function environment(variables: Readonly<Record<string, string>> = {}): Environment {
  return z.custom<Environment>().parse(variables);
}
