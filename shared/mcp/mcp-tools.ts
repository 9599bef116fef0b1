// Tools of an MCP server, declared by the host: names, schemas and effects are this deployment's, whatever the server says today. So digests,
// prompts and every attempt are the same while it is away, and a server that is away is a failed call, never a missing tool.
import { z } from "zod";
import { durationMillis } from "../define/duration.ts";
import { defineTool, type Tool, type ToolOptions } from "../define/tool.ts";
import { refuseUnknownFields, validateDefinition } from "../define/validate-definition.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { MAX_MCP_CONNECT_MILLIS } from "../limits.ts";
import { callServer, type McpServer } from "./call-server.ts";

/** One tool that the host allows, as `defineTool` takes it. */
export type McpToolOptions<Input extends z.ZodType> = Omit<
  ToolOptions<Input, z.ZodType>,
  "name" | "execute"
>;

export interface McpToolsOptions<Inputs extends Readonly<Record<string, z.ZodType>>> {
  readonly server: McpServer;
  /** Before the name of each tool, as the model sees it; none by default. */
  readonly prefix?: string;
  /** By the server's names. What else the server has is not offered. */
  readonly tools: { readonly [Name in keyof Inputs]: McpToolOptions<Inputs[Name]> };
}

const HeadSchema = z.object({
  server: z.object({
    url: z.union([
      z.url({ protocol: /^https?$/, message: "an http or https URL, or a function of env" }),
      z.custom((value) => typeof value === "function", { message: "a URL or a function of env" }),
    ]),
    headers: z
      .custom((value) => typeof value === "function", { message: "a function of env" })
      .optional(),
    fetch: z.custom((value) => typeof value === "function", { message: "a function" }).optional(),
  }),
  prefix: z.string().optional(),
  tools: z.record(z.string(), z.looseObject({})),
});

const ArgumentsSchema = z.record(z.string(), z.unknown());

/**
 * Tools for `defineAgent({ tools: { ...mcpTools({ … }) } })`, by their names with the prefix. What a provider does not accept in a name becomes `_`.
 * Throws `InvalidDefinition` that names the wrong field.
 */
export function mcpTools<Inputs extends Readonly<Record<string, z.ZodType>>>(
  options: McpToolsOptions<Inputs>,
): Readonly<Record<string, Tool>> {
  refuseUnknownFields("mcpTools", options, ["server", "prefix", "tools"]);
  validateDefinition("mcpTools", HeadSchema, options);
  refuseUnknownFields("mcpTools: server", options.server, ["url", "headers", "fetch"]);
  const { server, prefix = "" } = options;
  const made: Record<string, Tool> = {};
  for (const toolName in options.tools) {
    if (!Object.hasOwn(options.tools, toolName)) continue;
    const name = prefix + toolName.replaceAll(/[^A-Za-z0-9_-]/g, "_");
    if (Object.hasOwn(made, name)) {
      throw new HoldfastError("InvalidDefinition", `mcpTools: tools: two are named ${name}`);
    }
    made[name] = toTool(server, toolName, name, options.tools[toolName]);
  }
  return made;
}

function toTool<Input extends z.ZodType>(
  server: McpServer,
  toolName: string,
  name: string,
  options: McpToolOptions<Input>,
): Tool {
  const { timeout = "30 seconds" } = options;
  const tool = defineTool<Input, z.ZodType>({
    ...options,
    name,
    timeout,
    execute: (input, context) => {
      const args = ArgumentsSchema.parse(input);
      return callServer({ server, toolName, args, connectMillis }, context);
    },
  });
  // Half of it is left to the call, so that a server that never begins is a failure and not a timeout, which says less.
  const connectMillis = Math.min(durationMillis(timeout) / 2, MAX_MCP_CONNECT_MILLIS);
  return tool;
}
