// The crash points of every thread's runs. Deletion leaves nothing that a run could be compared by, and lanes are a host's: test/objects has
// tests that crash at each of their points.
import { FAILPOINTS } from "../../shared/failpoints.ts";

export const LIVING_POINTS = FAILPOINTS.filter((point) => !/^(delete|teardown|lane):/.test(point));
