// Runs around every test file in the real runtime: nothing that was logged, answered or traced while it ran holds a secret (SEC-04). What
// comes too late for its file is held against the next one.
import { afterAll } from "vitest";
import { expectNothingTold, recordConsole } from "./told.ts";

recordConsole();
afterAll(expectNothingTold);
