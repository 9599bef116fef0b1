// The one world of the tests: objects of an isolate share it with the tests that drive them.
import { TestWorld } from "../../shared/testing/test-world.ts";

export { Crash, type CrashMode } from "../../shared/testing/test-world.ts";

export const world = new TestWorld();
