// Where the issuer of tokens answers the Worker under test.
export const ISSUER_ORIGIN = "https://issuer.test";
/** And where an MCP server does. */
export const MCP_ORIGIN = "https://mcp.test";
