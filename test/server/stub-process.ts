// The outside world of a server that is killed, in a process of its own that is not: counts every tool call by operation id when it
// arrives, tells the orchestrator, and answers when told to.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { StubCallSchema, ToStubSchema, type Execution, type FromStub } from "./stub-wire.ts";

const executions = new Map<string, Execution>();
const held = new Map<number, ServerResponse>();
let arrivals = 0;

function tell(message: FromStub): void {
  process.send?.(message);
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const generation = /^\/g(\d{1,9})\/(?:model|tool)$/.exec(request.url ?? "")?.[1];
  if (generation === undefined) {
    response.writeHead(404).end();
    return;
  }
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) text += chunk;
  const call = StubCallSchema.parse(JSON.parse(text));
  const key = request.headers["idempotency-key"];
  const operationId = typeof key === "string" ? key : null;
  if (operationId !== null) {
    const count = (executions.get(operationId)?.count ?? 0) + 1;
    executions.set(operationId, { operationId, step: call.step, count });
  }
  arrivals += 1;
  held.set(arrivals, response);
  tell({ kind: "arrived", id: arrivals, generation: Number(generation), ...call, operationId });
}

process.on("message", (raw) => {
  const message = ToStubSchema.parse(raw);
  if (message.kind === "reply") {
    // Its server may be dead by now: then the answer goes nowhere.
    held.get(message.id)?.writeHead(200, { "content-type": "application/json" }).end("{}");
    held.delete(message.id);
    return;
  }
  const { ask, operationId } = message;
  const all = [...executions.values()];
  tell({
    kind: "executions",
    ask,
    executions:
      operationId === null ? all : all.filter((execution) => execution.operationId === operationId),
  });
});
process.on("disconnect", () => process.exit(0));

const server = createServer((request, response) => {
  receive(request, response).catch((error: unknown) => {
    // A killed server may cut its request short: that is no call.
    if (!response.headersSent) response.writeHead(400).end();
    if (!request.destroyed) console.error("stub: a call could not be read:", error);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null) {
    tell({ kind: "listening", port: address.port });
  }
});
