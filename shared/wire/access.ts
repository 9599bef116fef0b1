// Who may do what: the permissions, and the one table that says which of them each operation asks for (SEC-05). Routes and RPC methods are
// named after these operations; a test holds both against the table.
import { z } from "zod";
import { PrincipalSchema } from "../ids.ts";
import type { DecisionKind } from "./operations.ts";

export const PermissionSchema = z
  .enum(["threads:read", "threads:write", "threads:approve", "threads:operate", "admin"])
  .meta({ id: "Permission" });
export type Permission = z.infer<typeof PermissionSchema>;

/** Who calls, as a credential or a service binding says. The tenant is part of every object's name. */
export const CallerSchema = z.strictObject({
  tenant: z.string().min(1).max(128),
  principal: PrincipalSchema,
  permissions: z.array(PermissionSchema).max(32),
});
export type Caller = z.infer<typeof CallerSchema>;

/** Null: any credential will do. The decisions of a batch each ask for their own (`permissionOfDecision`). */
export const API_OPERATIONS = {
  submit: "threads:write",
  getThread: "threads:read",
  getSubmission: "threads:read",
  listSubmissions: "threads:read",
  awaitSettlement: "threads:read",
  awaitSettlementRecord: "threads:read",
  readPage: "threads:read",
  events: "threads:read",
  awaitProgress: "threads:read",
  cancelWait: "threads:read",
  listOperations: "threads:read",
  explain: "threads:read",
  usage: "threads:read",
  verify: "threads:read",
  /** Over HTTP alone, as the pages that it reads: a host is asked for `readPage`. */
  export: "threads:read",
  abort: "threads:write",
  decideOperations: null,
  repair: "threads:operate",
  /** Where it is forced, `threads:operate` too. */
  deleteThread: "threads:write",
  agents: null,
} as const satisfies Record<string, Permission | null>;

export type ApiOperation = keyof typeof API_OPERATIONS;

/** What each decision asks for: approvals `threads:approve`, unknown outcomes `threads:operate`. */
const DECISION_PERMISSIONS = {
  approve: "threads:approve",
  deny: "threads:approve",
  edit: "threads:approve",
  completed: "threads:operate",
  failed: "threads:operate",
  "never-started": "threads:operate",
  "safe-to-retry": "threads:operate",
  abort: "threads:operate",
} as const satisfies Record<DecisionKind, Permission>;

export function permissionOfDecision(decision: DecisionKind): Permission {
  return DECISION_PERMISSIONS[decision];
}

/** `admin` implies every other permission. */
export function isGranted(granted: readonly Permission[], asked: Permission | null): boolean {
  return asked === null || granted.includes("admin") || granted.includes(asked);
}
