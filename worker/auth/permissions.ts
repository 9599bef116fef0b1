// What a credential may do, and what each operation asks for: one table.
import { z } from "zod";

export const PermissionSchema = z.enum([
  "threads:read",
  "threads:write",
  "threads:approve",
  "threads:operate",
  "admin",
]);
export type Permission = z.infer<typeof PermissionSchema>;

export const OPERATION_PERMISSIONS = {
  submit: "threads:write",
  getSubmission: "threads:read",
  awaitSettlementRecord: "threads:read",
  readPage: "threads:read",
  abort: "threads:write",
  listOperations: "threads:read",
  decideApproval: "threads:approve",
  decideUnknown: "threads:operate",
  explain: "threads:read",
  repair: "threads:operate",
} as const satisfies Record<string, Permission>;

export type Operation = keyof typeof OPERATION_PERMISSIONS;

/** `admin` implies every other permission. */
export function hasPermission(granted: readonly Permission[], operation: Operation): boolean {
  return granted.includes("admin") || granted.includes(OPERATION_PERMISSIONS[operation]);
}
