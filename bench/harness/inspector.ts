// A session of the Chrome DevTools protocol with a Worker's isolate: what can be asked of it is V8's own.
import { z } from "zod";

export interface Inspector {
  call(method: string, params?: object): Promise<unknown>;
  close(): void;
}

const TargetsSchema = z.array(z.object({ webSocketDebuggerUrl: z.string() }));
const ReplySchema = z.object({
  id: z.int().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

/** With the first Worker there. */
export async function openInspector(base: URL): Promise<Inspector> {
  const http = new URL("/json", base);
  http.protocol = "http:";
  const [target] = TargetsSchema.parse(await (await fetch(http)).json());
  if (target === undefined) throw new Error("there is nothing to inspect");
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  const replies = new Map<number, PromiseWithResolvers<unknown>>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result, error } = ReplySchema.parse(JSON.parse(String(data)));
    if (id === undefined) return;
    if (error === undefined) replies.get(id)?.resolve(result);
    else replies.get(id)?.reject(new Error(error.message));
    replies.delete(id);
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("the inspector did not answer")));
  });
  let calls = 0;
  return {
    call: (method, params = {}) => {
      calls += 1;
      const id = calls;
      const reply = Promise.withResolvers<unknown>();
      replies.set(id, reply);
      socket.send(JSON.stringify({ id, method, params }));
      return reply.promise;
    },
    close: () => socket.close(),
  };
}
