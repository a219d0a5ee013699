/** @module The connection of the gateway to a provider. */

export interface Upstream {
  /** URL up to the version, without a trailing slash. */
  readonly url: string
  readonly key: () => string
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** The reason why an exchange failed, without any part of the URL except its host. */
  readonly reasonOf: (error: unknown) => string
  /** Whether the provider certainly received nothing, or refused the connection. */
  readonly wasNotSent: (error: unknown) => boolean
}
