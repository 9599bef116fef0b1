// What `holdfast/testing` offers to authors of agents: the same means that the runtime itself is tested with.
export { FAILPOINTS, type Failpoint } from "../failpoints.ts";
export type { Dump } from "./dump.store.ts";
export type { Evidence, Violation } from "./evidence.ts";
export { checkHistory } from "./history-checker.ts";
export { lastUserText, scriptModel, type ModelScript, type PlannedTurn } from "./scripted-model.ts";
export { Crash, TestWorld, type CrashMode } from "./test-world.ts";
export { ThreadTester, type ThreadTesterOptions } from "./thread-tester.ts";
