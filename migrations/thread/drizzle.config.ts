import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  driver: "durable-sqlite",
  schema: ["./durable-objects/thread/tables.ts", "./durable-objects/scheduler/tables.ts"],
  out: "./migrations/thread",
});
