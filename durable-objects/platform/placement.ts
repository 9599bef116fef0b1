// Which object holds which thread (HOST-01). One thread, one object, unless the host places several together.
import { canonicalJson } from "../../shared/canonical-json.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";

/** Contract: pure, and stable for as long as there are threads: changing it alone moves nothing. What it returns is the object's name inside the
 * tenant's, 1 to 256 characters. */
export type Placement = (threadId: string) => string;

/** Contract: pure. False refuses a thread that is addressed in an object which does not own it, so that a changed placement makes no empty twin;
 * by default an object owns what `placement` puts there. */
export type OwnsThread = (threadId: string, objectName: string) => boolean;

export interface PlacementOptions {
  readonly placement?: Placement | undefined;
  readonly ownsThread?: OwnsThread | undefined;
}

/** The tenant is part of every object's name, so that no id or placement can reach another tenant's. */
export function objectNameOf(
  tenant: string,
  threadId: string,
  { placement }: PlacementOptions,
): string {
  return canonicalJson([tenant, placement === undefined ? threadId : place(placement, threadId)]);
}

function place(placement: Placement, threadId: string): string {
  // Not trusted to be a text: a hook that forgot to answer places nothing.
  const placed: unknown = placement(threadId);
  if (typeof placed === "string" && placed.length >= 1 && placed.length <= 256) return placed;
  throw new HoldfastError(
    "Unavailable",
    "The deployment's placement returned no name for the thread's object.",
    { fields: { reason: "configuration", retryAfterSeconds: 60 } },
  );
}

/** Throws `Unavailable` where the host says that this object does not own the thread. */
export function refuseMisplaced(
  tenant: string,
  threadId: string,
  objectName: string | undefined,
  options: PlacementOptions,
): void {
  const { placement, ownsThread } = options;
  // An object without a name of its own cannot tell.
  if (objectName === undefined || (placement === undefined && ownsThread === undefined)) return;
  const owns =
    ownsThread === undefined
      ? objectName === objectNameOf(tenant, threadId, options)
      : ownsThread(threadId, innerNameOf(objectName));
  if (owns) return;
  throw new HoldfastError(
    "Unavailable",
    "This object does not own the thread. Its placement has changed: moving a thread is an export and an import.",
    { fields: { reason: "placement", retryAfterSeconds: 60 } },
  );
}

/** The name as `placement` gave it. */
function innerNameOf(objectName: string): string {
  const parts: unknown = JSON.parse(objectName);
  const inner: unknown = Array.isArray(parts) ? parts[1] : undefined;
  return typeof inner === "string" ? inner : objectName;
}
