// The crash points of a thread that lives. Those of its deletion leave nothing that a run could be compared by: test/objects/deletion.test.ts
// crashes at each of them.
import { FAILPOINTS } from "../../shared/failpoints.ts";

export const LIVING_POINTS = FAILPOINTS.filter((point) => !/^(delete|teardown):/.test(point));
