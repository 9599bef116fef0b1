// Accepts work: look-up by key, agent, schema, digests, limits, then one transaction with the submission, the due lane and the alarm. A
// crash before that commit leaves nothing; after it, the receipt is owed to any retry and the run to the alarm (THR-01). Synchronous: it
// waits on no model, tool or destination (THR-07).
import { must } from "../../../shared/assert.ts";
import { utf8Length } from "../../../shared/bytes.ts";
import { canonicalJson, type JsonValue } from "../../../shared/canonical-json.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { runIdOf, submissionIdOf } from "../../../shared/ids.ts";
import { toIsoInstant } from "../../../shared/time.ts";
import type { ExpectedDefinitions } from "../../../shared/wire/agent.ts";
import type { Receipt, SubmitRequest, SubmitResult } from "../../../shared/wire/submission.ts";
import type { Binding } from "../../agents/registry.ts";
import { digestJson } from "../../platform/digest.ts";
import { abortTogetherWith } from "../control/apply-control.ts";
import { hostOf } from "../ledger/find-submission.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { findHead } from "../ledger/select-head.ts";
import type { Fault } from "../../../shared/wire/fault.ts";
import { admitToFault } from "../recovery/faults.ts";
import type { ThreadCore } from "../thread-core.ts";
import { decideBusy, type BusyDecision } from "./decide-busy.ts";
import { decideReplay, findLimitBreach, type LimitBreach } from "./decide-admission.ts";

export interface Admission {
  readonly principal: string;
  readonly idempotencyKey: string;
  readonly request: SubmitRequest;
  /** Begins a thread that is not there yet; null when it is. Called inside the transaction. */
  readonly beginThread: (() => void) | null;
}

const IDLE: BusyDecision = { kind: "enqueue" };
const EMPTY_QUEUE = { depth: 0, nextSequence: 1 } as const;

export function admit(core: ThreadCore, admission: Admission): SubmitResult {
  core.failpoints.hit("submit:before");
  const { principal, idempotencyKey, request, beginThread } = admission;
  const { allowances } = request;
  const commandDigest = digestCommand(request);
  const isNewThread = beginThread !== null;
  const accepted = isNewThread ? null : core.ledger.findByKey(principal, idempotencyKey);
  const replay = decideReplay(accepted?.commandDigest ?? null, commandDigest);
  if (replay.kind === "replay" && accepted !== null) {
    armForReplay(core, accepted.entry);
    return { receipt: receiptOf(core.threadId, accepted.entry), replayed: true };
  }
  if (replay.kind === "conflict") {
    throw new HoldfastError(
      "IdempotencyConflict",
      "This Idempotency-Key already admitted another command. Send a new key for new work.",
    );
  }
  const binding = requireBinding(core, principal, request);
  const input = decodeInput(binding, request);
  const metadata = decodeMetadata(binding, request);
  requireDefinitions(binding, request.expectDefinitions ?? {});
  const queue = isNewThread ? EMPTY_QUEUE : core.ledger.queue();
  const breach = findLimitBreach(
    {
      inputBytes: utf8Length(input),
      queueDepth: queue.depth,
      databaseBytes: core.database.sizeBytes,
    },
    core.limits,
  );
  if (breach !== null) throw limitExceeded(breach);
  const busy = isNewThread ? IDLE : lookBusy(core, principal, request);
  if (busy.kind === "refuse") throw threadBusy(core, busy.head);
  let fault: Fault | null = null;
  const insert = () => {
    beginThread?.();
    const now = core.clock.now();
    const queueSequence = queue.nextSequence;
    const submission = {
      queueSequence,
      submissionId: submissionIdOf(queueSequence, core.ids.token()),
      principal,
      idempotencyKey,
      commandDigest,
      agentId: request.agent,
      input,
      allowances: allowances ?? null,
      metadata,
      host: busy.kind === "join" ? busy.host.queueSequence : null,
      acceptedAt: now,
    };
    core.ledger.insert(submission);
    core.enrolNative("submitted");
    core.mutated("Admission", submission.submissionId);
    fault = admitToFault(core, submission.submissionId);
    core.failpoints.hit("submit:inside");
    return submission;
  };
  const entry =
    busy.kind === "interrupt"
      ? abortTogetherWith(core, busy.head, principal, insert)
      : core.database.transact(insert);
  core.fault = fault;
  if (busy.kind === "join") core.live?.announceJoin(busy.host.queueSequence);
  core.committed([]);
  core.failpoints.hit("submit:after");
  return { receipt: receiptOf(core.threadId, entry), replayed: false };
}

/** A lane whose arming was lost on the way is armed by the repeat; the fact itself is no news to it (LANE-07, LANE-09). */
function armForReplay(
  { lanes, database, threadId }: ThreadCore,
  { submissionId }: LedgerEntry,
): void {
  if (!lanes.hasMutationLanes) return;
  database.transact(() => lanes.mutated({ kind: "Admission", threadId, submissionId }, true));
}

/** The command as a replay must send it again. `expectDefinitions` is a guard of one request, and no part of it. */
function digestCommand({ agent, input, onBusy, metadata, allowances }: SubmitRequest): string {
  return digestJson({
    agent,
    input,
    ...(onBusy === undefined ? {} : { onBusy }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(allowances === undefined ? {} : { allowances }),
  });
}

function lookBusy(
  core: ThreadCore,
  principal: string,
  { agent, onBusy = "enqueue" }: SubmitRequest,
): BusyDecision {
  if (onBusy === "enqueue") return IDLE;
  const head = findHead(core.ledger.owed(), core.row.read()?.claimedRun ?? null);
  const busy = decideBusy(onBusy, head, agent);
  if (busy.kind !== "join") return busy;
  // The run's tools act for its own principal: nobody else's words may steer them.
  const host = must(core.ledger.command(busy.host.queueSequence), "the head has its command");
  return host.principal === principal ? busy : IDLE;
}

/** Names the run that is in the way: of input that joined, its host's. */
function threadBusy(core: ThreadCore, head: LedgerEntry): HoldfastError {
  const { submissionId } = hostOf(core, head) ?? head;
  return new HoldfastError(
    "ThreadBusy",
    "The thread has work that is not done, and onBusy is reject. Nothing was admitted.",
    { fields: { submissionId, runId: runIdOf(submissionId) } },
  );
}

export function receiptOf(
  threadId: string,
  entry: Pick<LedgerEntry, "submissionId" | "queueSequence" | "agentId" | "acceptedAt">,
): Receipt {
  return {
    threadId,
    submissionId: entry.submissionId,
    queueSequence: entry.queueSequence,
    agentId: entry.agentId,
    acceptedAt: toIsoInstant(entry.acceptedAt),
  };
}

function requireBinding(core: ThreadCore, principal: string, request: SubmitRequest): Binding {
  const { registry, threadId } = core;
  const { agent: agentId, input, metadata = null } = request;
  const asked = { threadId, submissionId: null, agentId, principal, input, metadata };
  const binding = registry.resolve(asked);
  if (binding !== null) return binding;
  if (registry.has(agentId)) {
    throw new HoldfastError(
      "Unavailable",
      `This deployment does not say which of its definitions of agent ${agentId} is meant. Nothing was admitted.`,
      { fields: { reason: "binding", retryAfterSeconds: 60 } },
    );
  }
  throw new HoldfastError(
    "AgentNotFound",
    `This deployment has no such agent. It has: ${registry.ids().join(", ")}.`,
  );
}

/** The metadata as it is stored: decoded by the agent's schema, null without (THR-11). */
function decodeMetadata(binding: Binding, request: SubmitRequest): JsonValue {
  const decoded = binding.agent.decodeMetadata(request.metadata);
  if (decoded.ok) return decoded.value;
  throw new HoldfastError("InvalidInput", "The metadata does not fit the agent's schema for it.", {
    errors: decoded.faults.map(({ pointer, message }) => ({
      pointer: `/metadata${pointer}`,
      message,
    })),
  });
}

/** The input as it is stored: decoded by the agent's schema, canonical JSON. */
function decodeInput(binding: Binding, request: SubmitRequest): string {
  const decoded = binding.agent.decodeInput(request.input);
  if (decoded.ok) return canonicalJson(decoded.value);
  throw new HoldfastError("InvalidInput", "The input does not fit the agent's input schema.", {
    errors: decoded.faults.map(({ pointer, message }) => ({
      pointer: `/input${pointer}`,
      message,
    })),
  });
}

function requireDefinitions(binding: Binding, expected: ExpectedDefinitions): void {
  for (const name of ["agent", "model", "tools"] as const) {
    if (expected[name] !== undefined && expected[name] !== binding.digests[name]) {
      throw new HoldfastError(
        "DefinitionMismatch",
        `The ${name} digest of this deployment is another one. Nothing was admitted.`,
        { fields: { definition: name, current: binding.digests[name] } },
      );
    }
  }
}

function limitExceeded(breach: LimitBreach): HoldfastError {
  const { limit, current, maximum, status, retryable } = breach;
  return new HoldfastError(
    "AdmissionLimitExceeded",
    `${limit} is ${maximum}, and this would be past it (now ${current}). Nothing was admitted.`,
    {
      fields: {
        limit,
        current,
        maximum,
        status,
        retryable,
        ...(retryable ? { retryAfterSeconds: 1 } : {}),
      },
    },
  );
}
