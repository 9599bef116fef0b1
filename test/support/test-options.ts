// What a test may change of the deployment under test; objects read it when they are constructed.
import type { ToolAuthorization } from "../../durable-objects/thread/run/authorize-tools.ts";
import type { ThreadLimits } from "../../durable-objects/thread/thread-limits.ts";

interface TestOptions {
  authorize: ToolAuthorization;
  limits: Partial<ThreadLimits>;
}

export const testOptions: TestOptions = { authorize: () => true, limits: {} };

export function resetOptions(): void {
  testOptions.authorize = () => true;
  testOptions.limits = {};
}
