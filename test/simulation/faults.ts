// The crash that is armed, and whether it came: one at a time.
import type { Failpoint } from "../../shared/failpoints.ts";
import { world, type CrashMode } from "../support/world.ts";

export interface ArmedCrash {
  readonly point: Failpoint;
  readonly mode: CrashMode;
  readonly hit: number;
}

export class Faults {
  #armed: { readonly crash: ArmedCrash; readonly firedBefore: number } | null = null;

  /** In the place of the one that is armed already. */
  arm(crash: ArmedCrash): void {
    world.armCrashes(crash);
    this.#armed = { crash, firedBefore: world.fired.get(crash.point) ?? 0 };
  }

  get hasFired(): boolean {
    const armed = this.#armed;
    return armed !== null && (world.fired.get(armed.crash.point) ?? 0) > armed.firedBefore;
  }

  /** The crash that came since the last look, if one did. */
  take(): ArmedCrash | null {
    if (!this.hasFired) return null;
    const crash = this.#armed?.crash ?? null;
    this.#armed = null;
    return crash;
  }

  stop(): void {
    world.disarm();
    this.#armed = null;
  }
}
