// The crash points of every thread's runs. Deletion leaves nothing that a run could be compared by, lanes are a host's, and a fault needs a damaged log: test/objects has
// tests that crash at each of their points.
import { FAILPOINTS } from "../../shared/failpoints.ts";

export const LIVING_POINTS = FAILPOINTS.filter(
  (point) => !/^(delete|teardown|lane|fault):/.test(point),
);
