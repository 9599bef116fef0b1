// What a deployment types by augmenting two global interfaces: its bindings and variables, as `wrangler types` generates them, and its own
// services, as `holdfast({ services })` makes them. Both reach tools and hooks.

declare global {
  namespace Cloudflare {
    /** Filled by `wrangler types`; a variable that it cannot know is added by augmentation. */
    interface Env {}
  }
  namespace Holdfast {
    /** Empty until a deployment augments it: `declare global { namespace Holdfast { interface Services { db: Db } } }`. */
    interface Services {}
  }
}

export type Environment = Readonly<Cloudflare.Env>;
export type Services = Holdfast.Services;

/** A variable that the runtime knows by name and a deployment may leave out; empty counts as left out. */
export function readVariable(env: Environment, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}
