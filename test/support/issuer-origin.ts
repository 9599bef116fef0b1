// The one host outside that answers the Worker under test.
export const ISSUER_ORIGIN = "https://issuer.test";
