// What a test may change of the deployment under test; objects read it when they are constructed.
import type { AuthorizeOperation } from "../../durable-objects/thread/authorize-operation.ts";
import type { ToolAuthorization } from "../../durable-objects/thread/run/authorize-tools.ts";
import type { ThreadLimits } from "../../durable-objects/thread/thread-limits.ts";

interface TestOptions {
  authorize: ToolAuthorization;
  authorizeOperation: AuthorizeOperation | undefined;
  limits: Partial<ThreadLimits>;
}

export const testOptions: TestOptions = {
  authorize: () => true,
  authorizeOperation: undefined,
  limits: {},
};

export function resetOptions(): void {
  testOptions.authorize = () => true;
  testOptions.authorizeOperation = undefined;
  testOptions.limits = {};
}
