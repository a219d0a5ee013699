/** @module A provider as the gateway dials it. */

export interface Upstream {
  /** Up to the version, without a slash at its end. */
  readonly url: string
  readonly key: () => string
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Why an exchange came to nothing, without any part of the URL but its host. */
  readonly reasonOf: (error: unknown) => string
  /** Whether it is known that the provider got nothing, or refused at once. */
  readonly wasNotSent: (error: unknown) => boolean
}
