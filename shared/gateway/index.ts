// What `holdfast/gateway` offers: AI Gateway for any AI SDK provider, in Workers and in Node.
export {
  gatewayProvider,
  gatewayRest,
  type GatewayEndpoint,
  type GatewayProtocol,
  type GatewayProviderOptions,
  type GatewayRestOptions,
} from "./endpoint.ts";
export { GatewayRefusal } from "./confined-fetch.ts";
export { HoldfastError } from "../errors/holdfast-error.ts";
