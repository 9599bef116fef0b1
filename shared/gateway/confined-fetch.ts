// A fetch that knows one endpoint and its credentials: nothing else is asked, nobody is followed, and no other credential leaves.

/** What a confined fetch will not do; `message` says why, and holds no credential, no query and no content. */
export class GatewayRefusal extends Error {
  override readonly name = "GatewayRefusal";
}

export interface Confinement {
  /** Requests go below one of these, or to exactly one of them. */
  readonly allowed: readonly URL[];
  /** Set on every request, in place of whatever it brings under these names. Never seen by the caller. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Sends a request. Contract: follows no redirect by itself. By default the global fetch. */
  readonly send: ((request: Request) => Promise<Response>) | undefined;
}

/** The names under which provider clients send their keys; a client may have found one in the environment. */
const PROVIDER_KEY_HEADERS = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/** A path that a server may read as another: an encoded slash or backslash. Dots and plain backslashes are resolved by URL itself. */
const ENCODED_SEPARATOR = /%2f|%5c/i;

/** Rejects with `GatewayRefusal` for a request that leaves the endpoint, and for an answer that points elsewhere. */
export function confinedFetch({ allowed, credentials, send }: Confinement): typeof fetch {
  return async (input, init) => {
    const url = urlOf(input);
    if (url === null || !allowed.some((endpoint) => isInside(url, endpoint))) {
      throw new GatewayRefusal(
        `The request leaves the endpoint of the gateway: it may only go below ${allowed.map(({ href }) => href).join(" or ")}.`,
      );
    }
    // A redirect would carry the credentials to wherever it points.
    const request = new Request(input, { ...init, redirect: "manual" });
    for (const name of PROVIDER_KEY_HEADERS) request.headers.delete(name);
    for (const [name, value] of Object.entries(credentials)) request.headers.set(name, value);
    const response = await (send === undefined ? fetch(request) : send(request));
    if (isRedirect(response)) {
      await response.body?.cancel();
      throw new GatewayRefusal("The gateway answered with a redirect; none is followed.");
    }
    return response;
  };
}

function urlOf(input: string | URL | Request): URL | null {
  return URL.parse(input instanceof Request ? input.url : input);
}

function isInside(url: URL, endpoint: URL): boolean {
  const { origin, pathname, username, password } = url;
  if (origin !== endpoint.origin || username !== "" || password !== "") return false;
  if (pathname !== endpoint.pathname && !pathname.startsWith(`${endpoint.pathname}/`)) return false;
  return !ENCODED_SEPARATOR.test(pathname);
}

/** Browsers hide a redirect behind status 0; `redirected` betrays a transport that followed one. */
function isRedirect({ status, redirected }: Response): boolean {
  return redirected || status === 0 || (status >= 300 && status < 400 && status !== 304);
}
