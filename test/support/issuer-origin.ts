// Where the issuer of tokens answers the Worker under test.
export const ISSUER_ORIGIN = "https://issuer.test";
