// What `holdfast/mcp` offers: tools of an MCP server. An entry of its own, so that only a deployment that uses it carries the client.
export { IDEMPOTENCY_KEY_META } from "./call-requests.ts";
export { mcpTools, type McpToolOptions, type McpToolsOptions } from "./mcp-tools.ts";
export type { McpServer } from "./call-server.ts";
