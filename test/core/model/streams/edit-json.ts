// Changes one place of a JSON value, for requests that are to be refused. Never changes the value itself.

/** A negative step counts from the end; a place that becomes undefined is taken out. */
export function editJson(
  value: unknown,
  path: readonly (string | number)[],
  change: unknown,
): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return change;
  if (Array.isArray(value) && typeof step === "number") {
    const items: readonly unknown[] = value;
    const at = step < 0 ? items.length + step : step;
    if (at >= items.length) throw new Error(`there is no ${step}`);
    const next = editJson(items[at], rest, change);
    return next === undefined ? items.toSpliced(at, 1) : items.with(at, next);
  }
  if (typeof value === "object" && value !== null && Object.hasOwn(value, step)) {
    const { [String(step)]: inner, ...others }: Record<string, unknown> = { ...value };
    const next = editJson(inner, rest, change);
    return next === undefined ? others : { ...others, [step]: next };
  }
  throw new Error(`there is no ${step}`);
}
