// Every limit and default of the runtime, with its unit in its name and the source of the number.

const KIB = 1024;
const MIB = 1024 * KIB;

/** THR-06. */
export const MAX_QUEUE_DEPTH = 64;
/** THR-06. */
export const MAX_INPUT_BYTES = 256 * KIB;
/** THR-06: 2 GiB below the platform's 10 GB per object. */
export const MAX_DATABASE_BYTES = 8 * 1024 * MIB;
/** THR-11: what a submission may carry for its host beside its input. */
export const MAX_METADATA_BYTES = 16 * KIB;
/** The largest HTTP body that is read: one maximal input plus its envelope, with room for JSON escapes. */
export const MAX_BODY_BYTES = 2 * MIB;
/** SEC-04: how long a body may take to arrive. */
export const BODY_DEADLINE_MILLIS = 30_000;
/** One row of the log: the platform stores at most 2 MB, key included (platform limits). */
export const MAX_BATCH_BYTES = 1_900_000;
/** One record, which must fit a row. */
export const MAX_RECORD_BYTES = 1_800_000;
/** What an author or a model puts into one record: a response, an output, instructions with their prompt. The rest is ours. */
export const MAX_CONTENT_BYTES = 1_500_000;

/** RTM-01: one SQL page of records. */
export const MAX_PAGE_BYTES = 4 * MIB;
/** RTM-01 and the prompt's window over earlier runs. */
export const MAX_WINDOW_RECORDS = 1_024;
/** RTM-01, PERF-08: what a resident thread keeps of its history between two runs, as bytes of the log. A window of short turns is less. */
export const MAX_KEPT_HISTORY_BYTES = 512 * KIB;
/** OBS-01. */
export const MAX_PAGE_RECORDS = 256;
/** OBS-01: no wait on an object is longer. */
export const MAX_WAIT_MILLIS = 60_000;
/** SEC-04: a call of an object that is not answered by then, beside what it was asked to wait, is given up. */
export const RPC_DEADLINE_MILLIS = 30_000;
/** The client's own, beside what it asked the server to wait: a little more than the server gives its objects. */
export const CALL_DEADLINE_MILLIS = 45_000;
/** A stream of events that is silent for three of its heartbeats is dead. */
export const STREAM_SILENCE_MILLIS = 45_000;
/** Submissions of one page of a thread's list. */
export const MAX_PAGE_SUBMISSIONS = 100;
/** OBS-07: cancellations remembered for waits that have not arrived yet. */
export const MAX_CANCEL_HINTS = 1_024;
/** In-memory waits per object; a caller beyond them is told to come back. */
export const MAX_WAITERS = 1_024;
/** Of these, the places for waits for any new record. */
export const MAX_RECORD_WAITERS = 768;

/** ALM-02: of the threads that share an object. */
export const MAX_ATTEMPTS_AT_ONCE = 2;
/** ALM-02: the platform ends an alarm after 15 minutes. */
export const EVENT_CEILING_MILLIS = 14 * 60_000;
/** ALM-02: attempts share this deadline; at it the completed turn is committed and a later alarm resumes the run. */
export const YIELD_AFTER_MILLIS = 10 * 60_000;
/** ALM-03. */
export const ALARM_BACKOFF = { baseMillis: 100, capMillis: 5_000 } as const;
/** REC-04: when a thread that cannot be read is tried again. */
export const RECOVERY_LADDER_MILLIS = [5_000, 10_000, 20_000, 40_000, 60_000] as const;
/** REC-05: what one wave of recovery events may take. */
export const RECOVERY_EVENTS_TIMEOUT_MILLIS = 30_000;
/** LANE-03: a lane without progress waits a second at least. */
export const LANE_BACKOFF = { baseMillis: 2_000, capMillis: 5 * 60_000 } as const;
/** LANE-03: waves without progress before a lane is parked, and how often a parked one is looked at. */
export const MAX_UNCHANGED_WAVES = 8;
export const LANE_PARKED_RECHECK_MILLIS = 60 * 60_000;
/** LANE-01. */
export const MAX_LANE_TIMEOUT_MILLIS = 300_000;
/** RUN-15: the first retry of a model call comes after half a second to a second. */
export const MODEL_RETRY_BACKOFF = { baseMillis: 1_000, capMillis: 30_000 } as const;
/** RUN-15: what a provider's Retry-After is taken for at most; a run ends by its own deadline long before. */
export const MAX_RETRY_AFTER_MILLIS = 24 * 60 * 60 * 1_000;
/** REC-10: consecutive attempts without a new record before a run is parked. */
export const MAX_FRUITLESS_ATTEMPTS = 5;
/** THR-13: how often an object whose schema this code refuses looks again. */
export const FAULTED_RECHECK_MILLIS = 60 * 60_000;

/** RUN-12. */
export const MAX_FAILURE_MESSAGE_BYTES = 16 * KIB;
/** The longest author or reason of a control. */
export const MAX_REASON_CHARACTERS = 2_048;
/** CTX-01. */
export const DEFAULT_TOOL_RESULT_BYTES = 51_200;
/** JSON escapes can make six bytes of one: this much still fits a row. */
export const MAX_TOOL_RESULT_BYTES = 262_144;
/** TOOL-09: the answer to one request of an MCP server: far above any bound of a result, and a fraction of an isolate's 128 MB. */
export const MAX_MCP_ANSWER_BYTES = 16 * MIB;
/** TOOL-09: an MCP server that does not even begin a session is left sooner than one that works on a call. */
export const MAX_MCP_CONNECT_MILLIS = 10_000;
/** TOOL-09: how long the question whether a tool is still there may delay the failure that it explains, and pages of tools that it reads. */
export const MCP_LIST_DEADLINE_MILLIS = 5_000;
export const MAX_MCP_LIST_PAGES = 50;
/** TOOL-09: a session that was not closed by then ends on the server's own terms. */
export const MCP_CLOSE_DEADLINE_MILLIS = 5_000;
/** Decisions that one request makes together. */
export const MAX_DECISIONS = 64;
/** Arguments that a person puts in the place of the model's. */
export const MAX_EDITED_ARGUMENTS_BYTES = 65_536;
/** TOOL-03. */
export const MAX_STEP_NAME_CHARACTERS = 256;
/** A value that a handler shows as its progress. */
export const MAX_PROGRESS_BYTES = 4 * KIB;
/** A turn that declares more calls than this is refused as a model failure: no batch may outgrow a row. */
export const MAX_CALLS_PER_TURN = 128;
