/** @module The request's context: Hono's, with node's own request and response where a real server is in front. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'hono'
import type { Principal } from '../signing/tokens.ts'

export type HttpEnv = {
  /** Empty where the app is called without a socket. */
  Bindings: {
    readonly incoming?: IncomingMessage
    readonly outgoing?: ServerResponse
    /** To be called where a token was good: the connection is no stranger's any more. */
    readonly authenticated?: () => void
  }
  /** Who sent it, once the token was checked: for the request log. */
  Variables: { caller?: Principal }
}

export type HttpContext = Context<HttpEnv>

/** Who is at the other end, as far as a socket can tell. */
export function remoteAddress(c: HttpContext): string {
  return c.env?.incoming?.socket.remoteAddress ?? 'unknown'
}
